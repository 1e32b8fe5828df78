"""Makes C and assembly from mpi_functions.table: `table` <- `front`; `roles` <- `body` <- `entry`, and `quick`, <- `variant`."""
