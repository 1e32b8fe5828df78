#include "bench/npb/lu/class.h"

#include "bench/npb/cfd/verify.h"
#include "bench/npb/common/check.h"

#include <stddef.h>

static const struct lu_class classes[] = {
    {'S',
     12,
     50,
     0.5,
     {{1.6196343210976702e-2, 2.1976745164821318e-3, 1.5179927653399185e-3, 1.5029584435994323e-3,
       3.4264073155896461e-2},
      {6.4223319957960924e-4, 8.4144342047347926e-5, 5.8588269616485186e-5, 5.8474222595157350e-5,
       1.3103347914111294e-3},
      7.8418928865937083}},
    {'W',
     33,
     300,
     1.5e-3,
     {{12.36511638192, 1.317228477799, 2.550120713095, 2.326187750252, 28.26799444189},
      {0.4867877144216, 5.064652880982e-2, 9.281818101960e-2, 8.570126542733e-2, 1.084277417792},
      11.61399311023}},
    {'A',
     64,
     250,
     2,
     {{7.7902107606689367e2, 6.3402765259692870e1, 1.9499249727292479e2, 1.7845301160418537e2,
       1.8384760349464247e3},
      {2.9964085685471943e1, 2.8194576365003349, 7.3473412698774742, 6.7139225687777051,
       7.0715315688392578e1},
      26.030925604886277}},
    {'B',
     102,
     250,
     2,
     {{3.5532672969982736e3, 2.6214750795310692e2, 8.8333721850952190e2, 7.7812774739425265e2,
       7.3087969592545314e3},
      {1.1401176380212709e2, 8.1098963655421574, 2.8480597317698308e1, 2.5905394567832939e1,
       2.6054907504857413e2},
      47.887162703308227}},
    {'C',
     162,
     250,
     2,
     {{1.03766980323537846e4, 8.92212458801008552e2, 2.56238814582660871e3, 2.19194343857831427e3,
       1.78078057261061185e4},
      {2.15986399716949279e2, 1.55789559239863600e1, 5.41318863077207766e1, 4.82262643154045421e1,
       4.55902910043250358e2},
      66.6404553572181300}},
};

const struct lu_class *lu_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

bool lu_class_verify(const struct lu_class *size, const struct lu_result *result)
{
    const struct lu_result *official = &size->official;
    bool residual = cfd_verify_norms("residual", result->residual, official->residual);
    bool error = cfd_verify_norms("error   ", result->error, official->error);
    bool integral =
        npb_check_value("integral  ", result->integral, official->integral, CFD_TOLERANCE);
    return residual && error && integral;
}
