#include "empty_icu.h"

#include <stddef.h>
#include <stdint.h>

/*
 * ICU's data, without any data.
 *
 * Foundation, which GRDB needs, links ICU with the tables of all languages: 34 MB, of which Ferry
 * reads nothing. ICU finds them by a symbol, and takes a package without entries in their place, as
 * its own "stubdata" library is one (ICU User Guide, "ICU Data", and ucmndata.h for the layout):
 * what asks for a table gets an error, as on a system that lacks the language. The linker takes
 * the first definition, so that those of the static libraries are left out.
 *
 * Hidden, so that a program with a shared Foundation, as the tests are, keeps the tables that come
 * with it. The number is ICU's version in Swift 6.3; with another one the tables are linked again.
 */

struct package {
    uint16_t header_size;
    uint8_t magic[2];
    uint16_t info_size;
    uint16_t info_reserved;
    uint8_t is_big_endian;
    uint8_t charset_family;
    uint8_t size_of_uchar;
    uint8_t padding;
    uint8_t format[4];
    uint8_t format_version[4];
    uint8_t data_version[4];
    uint8_t header_end[8];
    uint32_t count;
    uint32_t reserved;
};

_Static_assert(offsetof(struct package, count) == 32, "the header is as long as it says");

__attribute__((visibility("hidden"), used, aligned(16)))
const struct package icudt76_dat = {
    .header_size = offsetof(struct package, count),
    .magic = { 0xDA, 0x27 },
    .info_size = 20,
    .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .size_of_uchar = 2,
    .format = { 'C', 'm', 'n', 'D' },
    .format_version = { 1 },
    .count = 0,
};
