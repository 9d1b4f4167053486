#pragma once
#include <stddef.h>
#include <stdint.h>

/* Files that are part of the program, as bytes. */

/* openapi.yaml of the package: the contract, served at /openapi.yaml. */
const uint8_t *ferry_contract_bytes(void);
extern const size_t ferry_contract_length;

/* A file of the page for people; `name` and `media_type` end with a NUL. */
struct ferry_page_file {
    const char *name;
    const char *media_type;
    const uint8_t *bytes;
    size_t length;
};

/* All files of the folder `page`; index.html is served at /, all of them under /page/. */
const struct ferry_page_file *ferry_page_files(void);
extern const size_t ferry_page_file_count;

/* The commit that the program was built from, or "unknown". */
const char *ferry_commit(void);
