// NAS simulated application SP: the flow equations by alternating directions, with scalar
// pentadiagonal systems along each (RNR-94-007, section 3).
#include "bench/npb/adi/job.h"
#include "bench/npb/adi/right.h"
#include "bench/npb/sp/bands.h"
#include "bench/npb/sp/waves.h"

#include <string.h>

enum {
    KEPT = sizeof(struct sp_row) / sizeof(adi_lanes),
    HANDED_UP = 2 * KEPT,
    HANDED_DOWN = 2 * SP_WAVES,
};

// The report adds the largest of several diffusions; with its constants that is always the one of
// heat.
static void look_at(const struct adi_batch *batch, int distance, struct sp_point *point)
{
    const struct adi_cell *cell = batch->cell;
    const double first = batch->time_step * batch->axis->first;
    const double second = batch->time_step * batch->axis->second;
    adi_batch_gather(batch, cell->velocity + batch->direction * cell->quantity, distance,
                     point->convection);
    adi_batch_gather(batch, cell->sound, distance, point->sound);
    adi_batch_gather(batch, cell->inverse_density, distance, point->diffusion);
    for (int i = 0; i < ADI_LANES; i++) {
        point->convection[i] *= first;
        point->sound[i] *= first;
        point->diffusion[i] =
            second * (batch->axis->diffusion + CFD_HEAT_VISCOSITY * point->diffusion[i]);
    }
}

static void sp_eliminate(const struct adi_batch *batch, adi_lanes *handed, adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const double dissipation = batch->time_step * CFD_DISSIPATION;
    struct sp_point points[3];
    struct sp_point *below = &points[0], *here = &points[1], *above = &points[2];
    struct sp_row *rows = (struct sp_row *)kept;
    const struct sp_row *before = (struct sp_row *)handed, *last = before + 1;

    look_at(batch, -1, below);
    look_at(batch, 0, here);
    for (int n = 0; n < batch->points; n++) {
        const double *weights = adi_damping(batch->first_index + n, batch->axis->points);
        double damping[ADI_DAMPING_POINTS];
        for (int k = 0; k < ADI_DAMPING_POINTS; k++)
            damping[k] = dissipation * weights[k];
        look_at(batch, n + 1, above);
        for (int m = 0; m < SP_WAVES; m++)
            adi_batch_gather(batch, cell->right + m * cell->quantity, n, rows[n].right[m]);
        sp_bands_solve(below, here, above, damping, before, last, &rows[n]);
        before = last;
        last = &rows[n];
        struct sp_point *unused = below;
        below = here;
        here = above;
        above = unused;
    }
    struct sp_row up[2] = {*before, *last};
    memcpy(handed, up, sizeof up);
}

static void sp_substitute(const struct adi_batch *batch, adi_lanes *handed, const adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const struct sp_row *rows = (const struct sp_row *)kept;
    adi_lanes solved[3][SP_WAVES];
    adi_lanes *here = solved[0], *next = solved[1], *after = solved[2];
    memcpy(next, handed, sizeof *solved);
    memcpy(after, handed + SP_WAVES, sizeof *solved);
    for (int n = batch->points - 1; n >= 0; n--) {
        adi_lanes turned[SP_WAVES];
        sp_bands_substitute(&rows[n], (const adi_lanes *)next, (const adi_lanes *)after, here);
        sp_waves_turn((const adi_lanes *)here, turned);
        for (int m = 0; m < SP_WAVES; m++)
            adi_batch_scatter(batch, cell->right + m * cell->quantity, n, turned[m]);
        adi_lanes *unused = after;
        after = next;
        next = here;
        here = unused;
    }
    memcpy(handed, next, sizeof *solved);
    memcpy(handed + SP_WAVES, after, sizeof *solved);
}

static const struct adi_solver sp = {
    .name = "SP",
    .classes =
        {
            {'S',
             12,
             100,
             0.015,
             {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
              1.5840557224455615e-02, 3.4849040609362460e-02},
             {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
              1.5750704994480102e-05, 3.4177666183390531e-05}},
            {'W',
             36,
             400,
             0.0015,
             {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03,
              0.3143611161242e-02},
             {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04,
              0.1212845639773e-03}},
            {'A',
             64,
             400,
             0.0015,
             {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179,
              2.1292113035138280},
             {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
              4.7671093939528255e-05, 1.3621613399213001e-04}},
            {'B',
             102,
             400,
             0.001,
             {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02,
              0.5643482272596e+02},
             {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02,
              0.1847456263981e-01}},
            {'C',
             162,
             400,
             0.00067,
             {0.5881691581829e+03, 0.2454417603569e+03, 0.3293829191851e+03, 0.3081924971891e+03,
              0.4597223799176e+03},
             {0.2598120500183e+00, 0.2590888922315e-01, 0.5132886416320e-01, 0.4806073419454e-01,
              0.5483377491301e+00}},
        },
    .operations = {881.174, -4683.91, 11484.5, -19272.4},
    .with_sound = true,
    .method = {HANDED_UP, HANDED_DOWN, KEPT, sp_eliminate, sp_substitute},
    .before_lines = sp_waves_enter,
    .after_lines = sp_waves_leave,
};

static const char *sp_prepare(const struct npb_job *job, void **state)
{
    return adi_job_prepare(&sp, job, state);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "sp",
        .prepare = sp_prepare,
        .run = adi_job_run,
        .verify = adi_job_verify,
        .operations = adi_job_operations,
        .release = adi_job_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
