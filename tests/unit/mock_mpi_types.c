// Datatypes of the MPI for tests: each is its bytes in order, however it was made.
#include "tests/unit/mock_mpi_inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    TYPES = 4096,
    BASIC_MAX = 32,
    TYPE_BASE = 0x10000,
};

static struct layout types[TYPES], basics[BASIC_MAX + 1];
static struct segment basic_segments[BASIC_MAX + 1];

// The layout of a datatype, or null. MPICH's handles of basic types tell their size.
struct layout *layout_of(MPI_Datatype type)
{
    if (((unsigned)type & 0xffff0000u) == 0x4c000000u) {
        size_t size = (unsigned)type >> 8 & 0xff;
        if (size == 0 || size > BASIC_MAX)
            return NULL;
        basic_segments[size] = (struct segment){0, size};
        basics[size] = (struct layout){.uses = 1,
                                       .committed = true,
                                       .size = size,
                                       .upper = (MPI_Aint)size,
                                       .count = 1,
                                       .segments = &basic_segments[size]};
        return &basics[size];
    }
    if (type < TYPE_BASE || type >= TYPE_BASE + TYPES || types[type - TYPE_BASE].uses == 0)
        return NULL;
    return &types[type - TYPE_BASE];
}

static bool is_basic(const struct layout *layout)
{
    return layout >= basics && layout <= &basics[BASIC_MAX];
}

struct layout *keep(struct layout *layout)
{
    if (!is_basic(layout))
        layout->uses++;
    return layout;
}

void drop(struct layout *layout)
{
    if (layout == NULL || is_basic(layout) || --layout->uses > 0)
        return;
    free(layout->segments);
    *layout = (struct layout){0};
}

static MPI_Datatype new_type(void)
{
    for (int i = 0; i < TYPES; i++) {
        if (types[i].uses == 0) {
            types[i].uses = 1;
            return TYPE_BASE + i;
        }
    }
    fail("datatypes", "too many");
}

static void add_segment(struct layout *layout, MPI_Aint at, size_t length)
{
    struct segment *last = layout->count > 0 ? &layout->segments[layout->count - 1] : NULL;
    if (last != NULL && last->at + (MPI_Aint)last->length == at) {
        last->length += length;
    } else {
        layout->segments =
            realloc(layout->segments, (size_t)(layout->count + 1) * sizeof *layout->segments);
        layout->segments[layout->count++] = (struct segment){at, length};
    }
    layout->size += length;
}

static void add_element(struct layout *layout, const struct layout *element, MPI_Aint at,
                        bool first)
{
    for (int i = 0; i < element->count; i++)
        add_segment(layout, at + element->segments[i].at, element->segments[i].length);
    if (first || at + element->lower < layout->lower)
        layout->lower = at + element->lower;
    if (first || at + element->upper > layout->upper)
        layout->upper = at + element->upper;
}

// Elements without gaps are one segment, however many.
static void add_row(struct layout *layout, const struct layout *element, MPI_Aint at, int length,
                    bool first)
{
    struct segment segment = {0, element->size * (size_t)length};
    struct layout row = {.size = segment.length,
                         .upper = (MPI_Aint)segment.length,
                         .count = 1,
                         .segments = &segment};
    add_element(layout, &row, at, first);
}

static bool is_dense(const struct layout *element)
{
    return element->count == 1 && element->segments[0].at == 0 && element->lower == 0 &&
           element->upper == (MPI_Aint)element->size;
}

static int mock_Type_create_struct(int count, const int lengths[], const MPI_Aint places[],
                                   const MPI_Datatype of[], MPI_Datatype *made)
{
    struct layout layout = {.uses = 1};
    bool first = true;
    enter();
    for (int i = 0; i < count; i++) {
        const struct layout *element = layout_of(of[i]);
        if (element == NULL) {
            free(layout.segments);
            return leave(MPI_ERR_TYPE);
        }
        if (lengths[i] > 0 && is_dense(element)) {
            add_row(&layout, element, places[i], lengths[i], first);
            first = false;
            continue;
        }
        for (int k = 0; k < lengths[i]; k++, first = false)
            add_element(&layout, element, places[i] + k * (element->upper - element->lower), first);
    }
    *made = new_type();
    types[*made - TYPE_BASE] = layout;
    return leave(MPI_SUCCESS);
}

static int mock_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype *made)
{
    const MPI_Aint start = 0;
    return mock_Type_create_struct(1, &count, &start, &type, made);
}

static int mock_Type_commit(MPI_Datatype *type)
{
    enter();
    struct layout *layout = layout_of(*type);
    if (layout != NULL)
        layout->committed = true;
    return leave(layout != NULL ? MPI_SUCCESS : MPI_ERR_TYPE);
}

static int mock_Type_free(MPI_Datatype *type)
{
    enter();
    struct layout *layout = layout_of(*type);
    if (layout == NULL || is_basic(layout))
        return leave(MPI_ERR_TYPE);
    drop(layout);
    *type = MPI_DATATYPE_NULL;
    return leave(MPI_SUCCESS);
}

static int mock_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
    enter();
    const struct layout *layout = layout_of(type);
    if (layout != NULL)
        *size = (MPI_Count)layout->size;
    return leave(layout != NULL ? MPI_SUCCESS : MPI_ERR_TYPE);
}

static int mock_Type_size(MPI_Datatype type, int *size)
{
    MPI_Count wide = 0;
    int rc = mock_Type_size_x(type, &wide);
    *size = (int)wide;
    return rc;
}

static int mock_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    enter();
    const struct layout *layout = layout_of(type);
    if (layout == NULL)
        return leave(MPI_ERR_TYPE);
    *lower = layout->lower;
    *extent = layout->upper - layout->lower;
    return leave(MPI_SUCCESS);
}

// Copies up to `length` bytes between a buffer of elements and a row of bytes.
void copy(const struct layout *type, char *buf, int count, char *bytes, size_t length, bool out)
{
    for (int i = 0; i < count; i++) {
        MPI_Aint base = i * (type->upper - type->lower);
        for (int k = 0; k < type->count && length > 0; k++) {
            size_t part = type->segments[k].length < length ? type->segments[k].length : length;
            // MPI_BOTTOM is null, to which nothing may be added.
            char *place = (char *)((intptr_t)buf + base + type->segments[k].at);
            memcpy(out ? bytes : place, out ? place : bytes, part);
            bytes += part;
            length -= part;
        }
    }
}

static int mock_Pack(const void *buf, int count, MPI_Datatype type, void *out, int size,
                     int *position, MPI_Comm comm)
{
    (void)comm;
    enter();
    const struct layout *layout = layout_of(type);
    size_t length = layout == NULL ? 0 : layout->size * (size_t)count;
    if (layout == NULL || !layout->committed || length > (size_t)(size - *position))
        return leave(layout == NULL ? MPI_ERR_TYPE : MPI_ERR_ARG);
    copy(layout, (char *)(uintptr_t)buf, count, (char *)out + *position, length, true);
    *position += (int)length;
    return leave(MPI_SUCCESS);
}

int mock_types_left(void)
{
    int left = 0;
    enter();
    for (int i = 0; i < TYPES; i++)
        left += types[i].uses > 0;
    return leave(left);
}

void mock_add_types(struct mpi_next *mpi)
{
    mpi->Pack = mock_Pack;
    mpi->Type_commit = mock_Type_commit;
    mpi->Type_contiguous = mock_Type_contiguous;
    mpi->Type_create_struct = mock_Type_create_struct;
    mpi->Type_free = mock_Type_free;
    mpi->Type_get_extent = mock_Type_get_extent;
    mpi->Type_size = mock_Type_size;
    mpi->Type_size_x = mock_Type_size_x;
}
