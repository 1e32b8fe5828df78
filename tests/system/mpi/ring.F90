! Ten nonblocking and ten blocking messages around a ring and a reduction, through the binding that
! BINDING chooses: 1 mpif.h, 2 use mpi, 3 use mpi_f08. Uses the constants that bindings translate.
program ring
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer :: rank, ranks, left, right, i, token, got, total, ierr
#if BINDING == 3
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  token = rank
  do i = 1, 10
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(token, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    token = got
    if (mod(rank, 2) == 0) then
      call MPI_Send(token, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierr)
      call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else
      call MPI_Recv(got, 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Send(token, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierr)
    end if
    token = got
  end do
  total = token
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,i0,a,i0)', 'token ', token, ' total ', total
  call MPI_Finalize(ierr)
end program ring
