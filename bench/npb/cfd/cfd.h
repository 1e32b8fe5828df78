// What the three simulated applications LU, SP and BT share (RNR-94-007, section 3): the
// compressible Navier-Stokes equations in the unit cube, their constants, the solution they are
// made to have, and the state they start from. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_CFD_H
#define COSCHED_BENCH_CFD_H

// The five conserved quantities of a point.
enum { CFD_DENSITY, CFD_MOMENTUM_X, CFD_MOMENTUM_Y, CFD_MOMENTUM_Z, CFD_ENERGY, CFD_QUANTITIES };

// The report's k1 to k5 as they enter the equations: gamma and gamma - 1 of the gas, the viscosity
// k3 k4, the heat conduction k1 k5 and k1 k3 k4 k5.
#define CFD_GAMMA          1.4
#define CFD_GAMMA_1        0.4
#define CFD_VISCOSITY      0.1
#define CFD_CONDUCTION     1.96
#define CFD_HEAT_VISCOSITY (CFD_CONDUCTION * CFD_VISCOSITY)
// Weight of the fourth differences that damp oscillations, the same along all directions.
#define CFD_DISSIPATION 0.25

enum { CFD_X, CFD_Y, CFD_Z, CFD_DIRECTIONS };

// The factors of differences along one direction of a grid with `points` points on an edge of the
// cube, those on the surface included, so h = 1 / (points - 1).
struct cfd_axis {
    int points;
    double first;     // 1 / (2 h): of centred first differences
    double second;    // 1 / h^2: of second differences
    double diffusion; // the added second-order diffusion of this direction, without `second`
};

struct cfd_axis cfd_axis_of(int direction, int points);

// Where point `index`, from 0, lies on an edge; exactly 0 and 1 at the ends.
double cfd_coordinate(int index, int points);

// The state that the forcing term makes stationary, a polynomial.
void cfd_exact(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES]);

// The state at the beginning: on the surface of the cube the exact one, inside what the surface
// values of the three lines through the point are blended to.
void cfd_initial(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES]);

// Makes sums of squares over all inner points of a grid root-mean-square norms, in place.
void cfd_norms(double sums[CFD_QUANTITIES], const int points[CFD_DIRECTIONS]);

#endif
