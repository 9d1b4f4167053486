#pragma once
#include <libpsl.h>

/* Suffixes of registries and of hosting companies; a macro that Swift cannot read. Without PSL_TYPE_NO_STAR_RULE the
   default rule holds: a top-level name that the list does not know is a suffix. */
static const int cpsl_any = PSL_TYPE_ANY;
