"""Makes C and assembly from mpi_functions.table: `table` <- `front`; `roles` <- `body` <- `entry`, `roles` <- `quick`, all <- `variant`."""
