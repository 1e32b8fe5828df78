#include "bench/npb/sp/bands.h"

static inline void solve_right(const adi_lanes far, const adi_lanes near, const adi_lanes inverse,
                               const adi_lanes before, const adi_lanes last, double *restrict right)
{
    for (int i = 0; i < ADI_LANES; i++)
        right[i] = (right[i] - far[i] * before[i] - near[i] * last[i]) * inverse[i];
}

// Makes one matrix' part of a row, `sound` being 1, -1 or 0 with the waves it is for. Leaves what
// its right sides are solved with.
static inline void solve_matrix(const struct sp_point *below, const struct sp_point *here,
                                const struct sp_point *above, const double damping[5], double sound,
                                int matrix, const struct sp_row *before, const struct sp_row *last,
                                struct sp_row *restrict row, adi_lanes far, adi_lanes near,
                                adi_lanes inverse)
{
    for (int i = 0; i < ADI_LANES; i++) {
        double low = damping[1] - below->convection[i] - sound * below->sound[i] -
                     below->diffusion[i] - damping[0] * before->next[matrix][i];
        double middle = damping[2] + 1 + 2 * here->diffusion[i] -
                        damping[0] * before->after[matrix][i] - low * last->next[matrix][i];
        double high = damping[3] + above->convection[i] + sound * above->sound[i] -
                      above->diffusion[i] - low * last->after[matrix][i];
        double by_middle = 1 / middle;
        row->next[matrix][i] = high * by_middle;
        row->after[matrix][i] = damping[4] * by_middle;
        far[i] = damping[0];
        near[i] = low;
        inverse[i] = by_middle;
    }
}

void sp_bands_solve(const struct sp_point *below, const struct sp_point *here,
                    const struct sp_point *above, const double damping[5],
                    const struct sp_row *before, const struct sp_row *last, struct sp_row *row)
{
    static const struct {
        double sound;
        int first, end; // waves
    } matrices[SP_MATRICES] = {
        {0, SP_ENTROPY, SP_OTHER_SHEAR + 1},
        {1, SP_SOUND_UP, SP_SOUND_UP + 1},
        {-1, SP_SOUND_DOWN, SP_SOUND_DOWN + 1},
    };
    for (int k = 0; k < SP_MATRICES; k++) {
        adi_lanes far, near, inverse;
        solve_matrix(below, here, above, damping, matrices[k].sound, k, before, last, row, far,
                     near, inverse);
        for (int m = matrices[k].first; m < matrices[k].end; m++)
            solve_right(far, near, inverse, before->right[m], last->right[m], row->right[m]);
    }
}

void sp_bands_substitute(const struct sp_row *row, const adi_lanes next[SP_WAVES],
                         const adi_lanes after[SP_WAVES], adi_lanes waves[SP_WAVES])
{
    static const int matrix_of[SP_WAVES] = {SP_CARRIED, SP_CARRIED, SP_CARRIED, SP_UP, SP_DOWN};
    for (int m = 0; m < SP_WAVES; m++) {
        const int k = matrix_of[m];
        for (int i = 0; i < ADI_LANES; i++)
            waves[m][i] =
                row->right[m][i] - row->next[k][i] * next[m][i] - row->after[k][i] * after[m][i];
    }
}
