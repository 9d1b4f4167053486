#pragma once
#include <stddef.h>
#include <stdint.h>

/* Files that are part of the program, as bytes. */

/* openapi.yaml of the package: the contract, served at /openapi.yaml. */
const uint8_t *ferry_contract_bytes(void);
extern const size_t ferry_contract_length;

/* The page for people, served at /. */
const uint8_t *ferry_page_bytes(void);
extern const size_t ferry_page_length;

/* The commit that the program was built from, or "unknown". */
const char *ferry_commit(void);
