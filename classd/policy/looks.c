#include "classd/policy/looks.h"

#define PAUSE_MAX UINT64_C(240)

bool looks_due(struct looks *looks, uint64_t turn, uint64_t company, uint64_t lot)
{
    uint64_t pause = LOOKS_PAUSE, rest = LOOKS_PAUSE;
    if (looks->turn != 0 && company == looks->company && !looks->lost) {
        pause = looks->pause;
        rest = pause / 2 + lot % pause;
    }
    if (looks->turn != 0 && turn - looks->turn < rest)
        return false;
    looks->pause = 2 * pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
    looks->turn = turn;
    looks->company = company;
    looks->lost = false;
    return true;
}

void looks_note_loss(struct looks *looks)
{
    looks->lost = true;
}
