// NAS simulated application BT: the flow equations by alternating directions, with block
// tridiagonal systems along each (RNR-94-007, section 3).
#include "bench/npb/adi/job.h"
#include "bench/npb/bt/block.h"

#include <string.h>

enum {
    KEPT = sizeof(struct bt_block) / sizeof(adi_lanes),
    HANDED_UP = KEPT,
    HANDED_DOWN = CFD_QUANTITIES,
};

// The quantity that is number `m` as seen along a direction: momenta come in the order along it,
// then the two across.
static int turned(int m, int direction)
{
    if (m == CFD_DENSITY || m == CFD_ENERGY)
        return m;
    return CFD_MOMENTUM_X + (m - CFD_MOMENTUM_X + direction) % CFD_DIRECTIONS;
}

static void look_at(const struct adi_batch *batch, int distance, struct bt_point *point)
{
    const struct adi_cell *cell = batch->cell;
    adi_lanes energy;
    adi_batch_gather(batch, cell->inverse_density, distance, point->inverse_density);
    adi_batch_gather(batch, cell->kinetic, distance, point->kinetic);
    adi_batch_gather(batch, cell->state + CFD_ENERGY * cell->quantity, distance, energy);
    for (int i = 0; i < CFD_DIRECTIONS; i++) {
        int axis = (batch->direction + i) % CFD_DIRECTIONS;
        adi_batch_gather(batch, cell->velocity + axis * cell->quantity, distance,
                         point->velocity[i]);
    }
    for (int i = 0; i < ADI_LANES; i++)
        point->energy[i] = energy[i] * point->inverse_density[i];
}

static void bt_eliminate(const struct adi_batch *batch, adi_lanes *handed, adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const double flux = batch->time_step * batch->axis->first;
    const double diffusion = batch->time_step * batch->axis->second;
    const double added = batch->axis->diffusion;
    struct bt_point points[3];
    struct bt_point *low = &points[0], *middle = &points[1], *high = &points[2];
    const struct bt_block *before = (struct bt_block *)handed;
    struct bt_block *rows = (struct bt_block *)kept;

    look_at(batch, -1, low);
    look_at(batch, 0, middle);
    for (int n = 0; n < batch->points; n++) {
        struct bt_block below, diagonal, *row = &rows[n];
        look_at(batch, n + 1, high);
        bt_block_assemble(low, -flux, -diffusion, added, &below);
        bt_block_assemble(middle, 0, 2 * diffusion, added, &diagonal);
        bt_block_assemble(high, flux, -diffusion, added, row);
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            const double *right = cell->right + turned(m, batch->direction) * cell->quantity;
            for (int i = 0; i < ADI_LANES; i++)
                diagonal.at[m][m][i] += 1;
            adi_batch_gather(batch, right, n, row->at[m][BT_RIGHT]);
        }
        bt_block_solve(&below, before, &diagonal, row);
        before = row;
        struct bt_point *unused = low;
        low = middle;
        middle = high;
        high = unused;
    }
    memcpy(handed, before, sizeof *before);
}

static void bt_substitute(const struct adi_batch *batch, adi_lanes *handed, const adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const struct bt_block *rows = (const struct bt_block *)kept;
    for (int n = batch->points - 1; n >= 0; n--) {
        adi_lanes solution[CFD_QUANTITIES];
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            for (int i = 0; i < ADI_LANES; i++) {
                double sum = rows[n].at[m][BT_RIGHT][i];
                for (int k = 0; k < CFD_QUANTITIES; k++)
                    sum -= rows[n].at[m][k][i] * handed[k][i];
                solution[m][i] = sum;
            }
        }
        for (int m = 0; m < CFD_QUANTITIES; m++)
            adi_batch_scatter(batch, cell->right + turned(m, batch->direction) * cell->quantity, n,
                              solution[m]);
        memcpy(handed, solution, sizeof solution);
    }
}

static void bt_add(struct adi_cell *cell)
{
    const struct npb_span *inner = cell->inner;
    for (int z = inner[CFD_Z].start; z < inner[CFD_Z].start + inner[CFD_Z].count; z++) {
        for (int y = inner[CFD_Y].start; y < inner[CFD_Y].start + inner[CFD_Y].count; y++) {
            ptrdiff_t row = adi_cell_at(cell, inner[CFD_X].start, y, z);
            for (int m = 0; m < CFD_QUANTITIES; m++) {
                double *restrict state = cell->state + row + m * cell->quantity;
                const double *restrict change = cell->right + row + m * cell->quantity;
                for (int i = 0; i < inner[CFD_X].count; i++)
                    state[i] += change[i];
            }
        }
    }
}

static const struct adi_solver bt = {
    .name = "BT",
    .classes =
        {
            {'S',
             12,
             60,
             0.010,
             {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02,
              2.6436421275166801e-02, 1.9211784131744430e-01},
             {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05,
              7.3821238632439731e-05, 8.9269630987491446e-04}},
            {'W',
             24,
             200,
             0.0008,
             {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02,
              0.2638427874317e+03},
             {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00,
              0.1018045837718e+02}},
            {'A',
             64,
             200,
             0.0008,
             {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01,
              2.3665622544678910e+01, 2.5278963211748344e+02},
             {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01,
              8.8302063039765474e-01, 9.7379901770829278e+00}},
            {'B',
             102,
             200,
             0.0003,
             {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02,
              3.2485447959084092e+02, 3.2707541254659363e+03},
             {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01,
              1.2006925323559144e+01, 1.2459576151035986e+02}},
            {'C',
             162,
             200,
             0.0001,
             {0.62398116551764615e+04, 0.50793239190423964e+03, 0.15423530093013596e+04,
              0.13302387929291190e+04, 0.11604087428436455e+05},
             {0.16462008369091265e+03, 0.11497107903824313e+02, 0.41207446207461508e+02,
              0.37087651059694167e+02, 0.36211053051841265e+03}},
        },
    .operations = {3478.8, -17655.7, 28023.7, 0},
    .method = {HANDED_UP, HANDED_DOWN, KEPT, bt_eliminate, bt_substitute},
    .after_lines = bt_add,
};

static const char *bt_prepare(const struct npb_job *job, void **state)
{
    return adi_job_prepare(&bt, job, state);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "bt",
        .prepare = bt_prepare,
        .run = adi_job_run,
        .verify = adi_job_verify,
        .operations = adi_job_operations,
        .release = adi_job_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
