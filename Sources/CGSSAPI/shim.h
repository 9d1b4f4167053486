#pragma once
#include <gssapi/gssapi.h>
#include <stdlib.h>
#include <string.h>

/* The library that libcurl would ask for Kerberos tickets, on whatever thread it is called (RFC 2743, RFC 4178). */

/* The first token of SPNEGO for a service such as "HTTP@www.example.org", by the ticket cache of the process. May ask a
   key distribution centre, and wait for it. Returns null where there is none; else freed by the caller. */
static inline void *cgssapi_first_token(const char *service, size_t *count) {
    static gss_OID_desc spnego = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
    OM_uint32 minor = 0;
    gss_name_t name = GSS_C_NO_NAME;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc text = {strlen(service), (void *)service};
    gss_buffer_desc token = GSS_C_EMPTY_BUFFER;
    void *copy = NULL;
    if (GSS_ERROR(gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &name))) return NULL;
    OM_uint32 major = gss_init_sec_context(
        &minor, GSS_C_NO_CREDENTIAL, &context, name, &spnego, 0, 0, GSS_C_NO_CHANNEL_BINDINGS,
        GSS_C_NO_BUFFER, NULL, &token, NULL, NULL);
    if (!GSS_ERROR(major) && token.length > 0 && (copy = malloc(token.length)) != NULL) {
        memcpy(copy, token.value, token.length);
        *count = token.length;
    }
    gss_release_buffer(&minor, &token);
    gss_release_name(&minor, &name);
    if (context != GSS_C_NO_CONTEXT) gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    return copy;
}
