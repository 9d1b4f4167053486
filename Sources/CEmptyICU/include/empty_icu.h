#pragma once

/* Nothing to call: what this target brings is a symbol for the linker. See empty_icu.c. */
