// NAS simulated application SP: the flow equations by alternating directions, with scalar
// pentadiagonal systems along each (RNR-94-007, section 3).
#include "bench/npb/adi/job.h"
#include "bench/npb/adi/right.h"
#include "bench/npb/sp/bands.h"
#include "bench/npb/sp/class.h"
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
    .classes = sp_classes,
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
