#include "assets.h"

/* #embed is C23; clang has it in every mode. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t contract[] = {
#embed "../../openapi.yaml"
};
const uint8_t *ferry_contract_bytes(void) { return contract; }
const size_t ferry_contract_length = sizeof contract;

static const uint8_t page[] = {
#embed "page.html"
};
const uint8_t *ferry_page_bytes(void) { return page; }
const size_t ferry_page_length = sizeof page;
