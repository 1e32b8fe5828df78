! The Fortran bindings: BINDING chooses 1 mpif.h, 2 use mpi, 3 use mpi_f08. What bindings translate
! is what matters here: ignored statuses, MPI_BOTTOM, MPI_IN_PLACE, indices from 1, logical flags,
! characters. For two ranks; prints lines as the C programs do.
#if BINDING == 3
#define REQUEST_TYPE type(MPI_Request)
#define DATATYPE_TYPE type(MPI_Datatype)
#define COMM_TYPE type(MPI_Comm)
#define MESSAGE_TYPE type(MPI_Message)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#define STATUS_AT(statuses, i) statuses(i)
#define ONE_STATUS(name) type(MPI_Status) :: name
#define SOME_STATUSES(name, n) type(MPI_Status) :: name(n)
#else
#define REQUEST_TYPE integer
#define DATATYPE_TYPE integer
#define COMM_TYPE integer
#define MESSAGE_TYPE integer
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#define STATUS_AT(statuses, i) statuses(:, i)
#define ONE_STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define SOME_STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#endif

#if BINDING == 1
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#elif BINDING == 2
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#endif

module state
  implicit none
  integer :: rank, other, wrong = 0, cases = 0, failures = 0
contains
  subroutine check(good)
    logical, intent(in) :: good
    if (.not. good) wrong = wrong + 1
  end subroutine check
end module state

program fortran
  use state
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: tag = 21
  integer :: ranks, ierr
  COMM_TYPE :: comm

  call MPI_Init(ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  other = 1 - rank
  call blocking(0, 'blocking/0')
  call blocking(1, 'blocking/1')
  call blocking(127, 'blocking/127')
  call blocking(1100, 'blocking/1100')
  call blocking(50000, 'blocking/50000')
  call ignored_status
  call waitall_statuses
  call waitall_ignored
  call waitany_counts_from_one
  call testsome_counts_from_one
  call testall_and_testany
  call probe_then_receive
  call iprobe_flag
  call matched_probe
  call persistent
  call sendrecv
  call sendrecv_replace
  call bottom
  call in_place
  call user_type
  call characters
  call array_sections
  call proc_null
  call wildcards
  call buffered
  call cancelled
  call get_status
  call nonblocking_collectives
  call truncated
  if (rank == 0) print '(a,i0,a,i0,a)', 'end: ', cases, ' cases, ', failures, ' failed'
  if (rank == 0) flush (6)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine report(name)
    character(*), intent(in) :: name
    integer :: all
    call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    cases = cases + 1
    if (all /= 0) failures = failures + 1
    if (rank == 0) then
      if (all == 0) then
        print '(a,a)', 'ok ', name
      else
        print '(a,a,a,i0,a)', 'FAILED ', name, ' ', all, ' checks'
      end if
      flush (6)
    end if
    wrong = 0
  end subroutine report

  subroutine blocking(length, name)
    integer, intent(in) :: length
    character(*), intent(in) :: name
    double precision :: numbers(50010)
    integer :: i, sender, got
    ONE_STATUS(status)
    do sender = 0, 1
      if (rank == sender) then
        do i = 1, length
          numbers(i) = i + 0.5d0
        end do
        call MPI_Send(numbers, length, MPI_DOUBLE_PRECISION, other, tag, comm, ierr)
      else
        numbers = -1
        call MPI_Recv(numbers, length + 5, MPI_DOUBLE_PRECISION, sender, MPI_ANY_TAG, comm, status, ierr)
        call check(SOURCE_OF(status) == sender .and. TAG_OF(status) == tag)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, got, ierr)
        call check(got == length)
        do i = 1, length
          call check(numbers(i) == i + 0.5d0)
        end do
        call check(all(numbers(length + 1:length + 10) == -1))
      end if
    end do
    call report(name)
  end subroutine blocking

  subroutine ignored_status
    integer :: number, got
    number = rank + 10
    if (rank == 0) then
      call MPI_Send(number, 1, MPI_INTEGER, 1, tag, comm, ierr)
      call MPI_Recv(got, 1, MPI_INTEGER, 1, tag, comm, MPI_STATUS_IGNORE, ierr)
    else
      call MPI_Recv(got, 1, MPI_INTEGER, 0, tag, comm, MPI_STATUS_IGNORE, ierr)
      call MPI_Send(number, 1, MPI_INTEGER, 0, tag, comm, ierr)
    end if
    call check(got == other + 10)
    call report('ignored_status')
  end subroutine ignored_status

  subroutine start_four(numbers, got, requests)
    integer, asynchronous :: numbers(2), got(2)
    REQUEST_TYPE :: requests(4)
    integer :: i
    got = -1
    do i = 1, 2
      numbers(i) = 100*rank + i
      call MPI_Irecv(got(i), 1, MPI_INTEGER, other, i, comm, requests(i), ierr)
    end do
    do i = 1, 2
      call MPI_Isend(numbers(i), 1, MPI_INTEGER, other, i, comm, requests(2 + i), ierr)
    end do
  end subroutine start_four

  subroutine check_four(got, requests)
    integer :: got(2), i
    REQUEST_TYPE :: requests(4)
    call check(got(1) == 100*other + 1 .and. got(2) == 100*other + 2)
    do i = 1, 4
      call check(requests(i) == MPI_REQUEST_NULL)
    end do
  end subroutine check_four

  subroutine waitall_statuses
    integer, asynchronous :: numbers(2), got(2)
    integer :: i, count
    REQUEST_TYPE :: requests(4)
    SOME_STATUSES(statuses, 4)
    call start_four(numbers, got, requests)
    call MPI_Waitall(4, requests, statuses, ierr)
    call check_four(got, requests)
    do i = 1, 2
#if BINDING == 3
      call check(statuses(i)%MPI_SOURCE == other .and. statuses(i)%MPI_TAG == i)
#else
      call check(statuses(MPI_SOURCE, i) == other .and. statuses(MPI_TAG, i) == i)
#endif
      call MPI_Get_count(STATUS_AT(statuses, i), MPI_INTEGER, count, ierr)
      call check(count == 1)
    end do
    call report('waitall_statuses')
  end subroutine waitall_statuses

  subroutine waitall_ignored
    integer, asynchronous :: numbers(2), got(2)
    REQUEST_TYPE :: requests(4)
    call start_four(numbers, got, requests)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    call check_four(got, requests)
    call report('waitall_ignored')
  end subroutine waitall_ignored

  subroutine waitany_counts_from_one
    integer, asynchronous :: numbers(2), got(2)
    integer :: i, index, seen
    REQUEST_TYPE :: requests(4)
    ONE_STATUS(status)
    call start_four(numbers, got, requests)
    seen = 0
    do i = 1, 4
      call MPI_Waitany(4, requests, index, status, ierr)
      call check(index >= 1 .and. index <= 4)
      if (index <= 2) call check(TAG_OF(status) == index .and. SOURCE_OF(status) == other)
      seen = seen + 2**index
    end do
    call check(seen == 30)
    call MPI_Waitany(4, requests, index, MPI_STATUS_IGNORE, ierr)
    call check(index == MPI_UNDEFINED)
    call check_four(got, requests)
    call report('waitany_counts_from_one')
  end subroutine waitany_counts_from_one

  subroutine testsome_counts_from_one
    integer, asynchronous :: numbers(2), got(2)
    integer :: i, done, count, indices(4), seen
    REQUEST_TYPE :: requests(4)
    SOME_STATUSES(statuses, 4)
    call start_four(numbers, got, requests)
    seen = 0
    done = 0
    do while (done < 4)
      call MPI_Testsome(4, requests, count, indices, statuses, ierr)
      do i = 1, count
        seen = seen + 2**indices(i)
#if BINDING == 3
        if (indices(i) <= 2) call check(statuses(i)%MPI_TAG == indices(i))
#else
        if (indices(i) <= 2) call check(statuses(MPI_TAG, i) == indices(i))
#endif
      end do
      done = done + count
    end do
    call check(seen == 30)
    call MPI_Waitsome(4, requests, count, indices, MPI_STATUSES_IGNORE, ierr)
    call check(count == MPI_UNDEFINED)
    call check_four(got, requests)
    call report('testsome_counts_from_one')
  end subroutine testsome_counts_from_one

  subroutine testall_and_testany
    integer, asynchronous :: numbers(2), got(2)
    integer :: index
    logical :: flag
    REQUEST_TYPE :: requests(4)
    SOME_STATUSES(statuses, 4)
    call start_four(numbers, got, requests)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(4, requests, flag, statuses, ierr)
    end do
    call check_four(got, requests)
    call start_four(numbers, got, requests)
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(4, requests, index, flag, MPI_STATUS_IGNORE, ierr)
    end do
    ! MPICH 4.0's mpi_f08 counts from 0 here, which shows only when the first receive is done first.
    call check(index >= 0 .and. index <= 4)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    call check_four(got, requests)
    call report('testall_and_testany')
  end subroutine testall_and_testany

  subroutine probe_then_receive
    integer :: numbers(3000), count, i
    ONE_STATUS(status)
    do i = 1, 3000, 700
      if (rank == 0) then
        numbers = i
        call MPI_Send(numbers, i, MPI_INTEGER, 1, i, comm, ierr)
      else
        call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status, ierr)
        call MPI_Get_count(status, MPI_INTEGER, count, ierr)
        call check(count == i .and. TAG_OF(status) == i .and. SOURCE_OF(status) == 0)
        call MPI_Get_elements(status, MPI_INTEGER, count, ierr)
        call check(count == i)
        call MPI_Recv(numbers, count, MPI_INTEGER, 0, i, comm, status, ierr)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
        call check(count == MPI_UNDEFINED .or. mod(i, 2) == 0)
        call check(all(numbers(1:i) == i))
      end if
    end do
    call report('probe_then_receive')
  end subroutine probe_then_receive

  subroutine iprobe_flag
    integer :: number
    logical :: flag
    ONE_STATUS(status)
    call MPI_Iprobe(other, tag + 5, comm, flag, status, ierr)
    call check(.not. flag)
    number = 4
    if (rank == 0) then
      call MPI_Send(number, 1, MPI_INTEGER, 1, tag, comm, ierr)
    else
      do while (.not. flag)
        call MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, flag, status, ierr)
      end do
      call check(SOURCE_OF(status) == 0)
      call MPI_Iprobe(0, tag, comm, flag, MPI_STATUS_IGNORE, ierr)
      call check(flag)
      call MPI_Recv(number, 1, MPI_INTEGER, 0, tag, comm, MPI_STATUS_IGNORE, ierr)
    end if
    call report('iprobe_flag')
  end subroutine iprobe_flag

  subroutine matched_probe
    integer :: numbers(2000), count
    MESSAGE_TYPE :: matched
    ONE_STATUS(status)
    numbers = rank
    if (rank == 0) then
      call MPI_Send(numbers, 1999, MPI_INTEGER, 1, tag, comm, ierr)
    else
      call MPI_Mprobe(0, tag, comm, matched, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(count == 1999)
      call MPI_Mrecv(numbers, 2000, MPI_INTEGER, matched, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(count == 1999)
      call check(matched == MPI_MESSAGE_NULL)
      call check(all(numbers(1:1999) == 0) .and. numbers(2000) == 1)
    end if
    call report('matched_probe')
  end subroutine matched_probe

  subroutine persistent
    integer, asynchronous :: numbers(3000), got(3000)
    integer :: i, count
    REQUEST_TYPE :: requests(2)
    SOME_STATUSES(statuses, 2)
    call MPI_Recv_init(got, 3000, MPI_INTEGER, other, tag, comm, requests(1), ierr)
    call MPI_Send_init(numbers, 2500, MPI_INTEGER, other, tag, comm, requests(2), ierr)
    do i = 1, 5
      numbers = rank*10 + i
      got = -1
      call MPI_Startall(2, requests, ierr)
      call MPI_Waitall(2, requests, statuses, ierr)
      call MPI_Get_count(STATUS_AT(statuses, 1), MPI_INTEGER, count, ierr)
      call check(count == 2500)
      call check(all(got(1:2500) == other*10 + i) .and. all(got(2501:3000) == -1))
    end do
    call MPI_Start(requests(1), ierr)
    call MPI_Start(requests(2), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2), ierr)
    call check(requests(1) == MPI_REQUEST_NULL)
    call report('persistent')
  end subroutine persistent

  subroutine sendrecv
    integer :: numbers(1500), got(1500), count
    ONE_STATUS(status)
    numbers = rank + 5
    got = -1
    call MPI_Sendrecv(numbers, 1400, MPI_INTEGER, other, tag, got, 1500, MPI_INTEGER, other, tag, &
                      comm, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == 1400 .and. SOURCE_OF(status) == other)
    call check(all(got(1:1400) == other + 5) .and. all(got(1401:1500) == -1))
    call MPI_Sendrecv(numbers, 1, MPI_INTEGER, other, tag, got, 1, MPI_INTEGER, other, tag, &
                      comm, MPI_STATUS_IGNORE, ierr)
    call check(got(1) == other + 5)
    call report('sendrecv')
  end subroutine sendrecv

  subroutine sendrecv_replace
    integer :: numbers(5000), length
    ONE_STATUS(status)
    do length = 1, 5000, 1249
      numbers = rank
      call MPI_Sendrecv_replace(numbers, length, MPI_INTEGER, other, tag, other, tag, comm, &
                                status, ierr)
      call check(SOURCE_OF(status) == other)
      call check(all(numbers(1:length) == other) .and. all(numbers(length + 1:5000) == rank))
    end do
    call report('sendrecv_replace')
  end subroutine sendrecv_replace

  subroutine bottom
    integer, asynchronous, save :: first(300)
    double precision, asynchronous, save :: second(300)
    integer(MPI_ADDRESS_KIND) :: places(2)
    integer :: lengths(2), count
    DATATYPE_TYPE :: types(2), both
    ONE_STATUS(status)
    call MPI_Get_address(first, places(1), ierr)
    call MPI_Get_address(second, places(2), ierr)
    lengths = 300
    types(1) = MPI_INTEGER
    types(2) = MPI_DOUBLE_PRECISION
    call MPI_Type_create_struct(2, lengths, places, types, both, ierr)
    call MPI_Type_commit(both, ierr)
    first = rank
    second = rank + 0.25d0
    if (rank == 0) then
      call MPI_Send(MPI_BOTTOM, 1, both, 1, tag, comm, ierr)
    else
      call MPI_Recv(MPI_BOTTOM, 1, both, 0, tag, comm, status, ierr)
      call MPI_Get_count(status, both, count, ierr)
      call check(count == 1)
#if BINDING != 1
      if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_Get_address(first, places(1), ierr)
#endif
      call check(all(first == 0) .and. all(second == 0.25d0))
    end if
    call MPI_Type_free(both, ierr)
    call report('bottom')
  end subroutine bottom

  subroutine in_place
    integer :: numbers(2), total(2)
    numbers = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INTEGER, MPI_SUM, comm, ierr)
    call check(all(numbers == 3))
    numbers = -1
    numbers(rank + 1) = rank + 7
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, 1, MPI_INTEGER, comm, ierr)
    call check(numbers(1) == 7 .and. numbers(2) == 8)
    total = rank
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, MPI_MAX, 0, comm, ierr)
      call check(all(total == 1))
    else
      call MPI_Reduce(total, numbers, 2, MPI_INTEGER, MPI_MAX, 0, comm, ierr)
    end if
    call report('in_place')
  end subroutine in_place

  subroutine user_type
    integer :: matrix(20, 30), i, j, count
    DATATYPE_TYPE :: row
    ONE_STATUS(status)
    call MPI_Type_vector(30, 1, 20, MPI_INTEGER, row, ierr)
    call MPI_Type_commit(row, ierr)
    do j = 1, 30
      do i = 1, 20
        matrix(i, j) = 10000*rank + 100*i + j
      end do
    end do
    if (rank == 0) then
      call MPI_Send(matrix(3, 1), 1, row, 1, tag, comm, ierr)
    else
      call MPI_Recv(matrix(5, 1), 1, row, 0, tag, comm, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(count == 30)
      do j = 1, 30
        call check(matrix(5, j) == 300 + j)
        call check(matrix(4, j) == 10400 + j .and. matrix(6, j) == 10600 + j)
      end do
    end if
    call MPI_Type_free(row, ierr)
    call report('user_type')
  end subroutine user_type

  subroutine characters
    character(len=40) :: text, got
    integer :: count
    ONE_STATUS(status)
    write (text, '(a,i0)') 'text of rank ', rank
    got = repeat('x', 40)
    call MPI_Sendrecv(text, 14, MPI_CHARACTER, other, tag, got, 40, MPI_CHARACTER, other, tag, comm, &
                      status, ierr)
    call MPI_Get_count(status, MPI_CHARACTER, count, ierr)
    call check(count == 14)
    call check(got(1:13) == 'text of rank ' .and. got(14:14) == achar(iachar('0') + other))
    call check(got(15:40) == repeat('x', 26))
    call report('characters')
  end subroutine characters

  subroutine array_sections
    ! Contiguous parts of an array: no copy is made.
    integer, asynchronous :: numbers(1000), got(1000)
    REQUEST_TYPE :: requests(2)
    numbers = rank
    got = -1
    call MPI_Irecv(got(101:400), 300, MPI_INTEGER, other, tag, comm, requests(1), ierr)
    call MPI_Isend(numbers(501:800), 300, MPI_INTEGER, other, tag, comm, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check(all(got(101:400) == other) .and. all(got(1:100) == -1) .and. all(got(401:) == -1))
    call report('array_sections')
  end subroutine array_sections

  subroutine proc_null
    integer :: number, count
    ONE_STATUS(status)
    number = 3
    call MPI_Send(number, 1, MPI_INTEGER, MPI_PROC_NULL, tag, comm, ierr)
    call MPI_Recv(number, 1, MPI_INTEGER, MPI_PROC_NULL, tag, comm, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(number == 3 .and. count == 0)
    call check(SOURCE_OF(status) == MPI_PROC_NULL .and. TAG_OF(status) == MPI_ANY_TAG)
    call report('proc_null')
  end subroutine proc_null

  subroutine wildcards
    integer, asynchronous :: numbers(10), got(10)
    integer :: i
    REQUEST_TYPE :: requests(20)
    SOME_STATUSES(statuses, 20)
    do i = 1, 10
      numbers(i) = i*i
      call MPI_Irecv(got(i), 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, requests(i), ierr)
    end do
    do i = 1, 10
      call MPI_Isend(numbers(i), 1, MPI_INTEGER, other, i, comm, requests(10 + i), ierr)
    end do
    call MPI_Waitall(20, requests, statuses, ierr)
    do i = 1, 10
      call check(got(i) == i*i)
#if BINDING == 3
      call check(statuses(i)%MPI_SOURCE == other .and. statuses(i)%MPI_TAG == i)
#else
      call check(statuses(MPI_SOURCE, i) == other .and. statuses(MPI_TAG, i) == i)
#endif
    end do
    call report('wildcards')
  end subroutine wildcards

  subroutine buffered
    integer :: got, number, room
    character, asynchronous, save :: space(5000)
    call MPI_Pack_size(1, MPI_INTEGER, comm, room, ierr)
    room = room + MPI_BSEND_OVERHEAD
    number = rank + 70
    call MPI_Buffer_attach(space, room, ierr)
    call MPI_Bsend(number, 1, MPI_INTEGER, other, tag, comm, ierr)
    call MPI_Recv(got, 1, MPI_INTEGER, other, tag, comm, MPI_STATUS_IGNORE, ierr)
    call check(got == other + 70)
    call report('buffered')
  end subroutine buffered

  subroutine cancelled
    integer, asynchronous :: got
    integer :: number
    logical :: flag
    REQUEST_TYPE :: request
    ONE_STATUS(status)
    got = -1
    call MPI_Irecv(got, 1, MPI_INTEGER, other, tag, comm, request, ierr)
    call MPI_Cancel(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag)
    call MPI_Barrier(comm, ierr)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, other, tag, number, 1, MPI_INTEGER, other, tag, comm, &
                      status, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call check(.not. flag .and. number == other .and. got == -1)
    call report('cancelled')
  end subroutine cancelled

  subroutine get_status
    integer, asynchronous :: got, number
    integer :: i, count
    logical :: flag
    REQUEST_TYPE :: requests(2)
    ONE_STATUS(status)
    number = rank
    call MPI_Irecv(got, 1, MPI_INTEGER, other, tag, comm, requests(1), ierr)
    call MPI_Isend(number, 1, MPI_INTEGER, other, tag, comm, requests(2), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(1), flag, status, ierr)
    end do
    do i = 1, 2
      call MPI_Request_get_status(requests(1), flag, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(flag .and. count == 1 .and. SOURCE_OF(status) == other)
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check(got == other)
    call report('get_status')
  end subroutine get_status

  subroutine nonblocking_collectives
    integer, asynchronous :: number, total, word
    REQUEST_TYPE :: requests(3)
    number = rank + 1
    word = rank
    call MPI_Iallreduce(number, total, 1, MPI_INTEGER, MPI_SUM, comm, requests(1), ierr)
    call MPI_Ibcast(word, 1, MPI_INTEGER, 1, comm, requests(2), ierr)
    call MPI_Ibarrier(comm, requests(3), ierr)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
    call check(total == 3 .and. word == 1)
    call report('nonblocking_collectives')
  end subroutine nonblocking_collectives

  subroutine truncated
    integer :: numbers(100), error_class, got, code
    numbers = rank
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
    if (rank == 0) then
      call MPI_Send(numbers, 100, MPI_INTEGER, 1, tag, comm, ierr)
    else
      call MPI_Recv(numbers, 10, MPI_INTEGER, 0, tag, comm, MPI_STATUS_IGNORE, ierr)
      call check(ierr /= MPI_SUCCESS)
      code = ierr
      call MPI_Error_class(code, error_class, ierr)
      call check(error_class == MPI_ERR_TRUNCATE)
    end if
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, other, tag, got, 1, MPI_INTEGER, other, tag, comm, &
                      MPI_STATUS_IGNORE, ierr)
    call check(got == other)
    call report('truncated')
  end subroutine truncated

end program fortran
