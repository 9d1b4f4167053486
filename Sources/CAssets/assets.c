#include "assets.h"

/* #embed is C23; clang has it in every mode. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t contract[] = {
#embed "../../openapi.yaml"
};
const uint8_t *ferry_contract_bytes(void) { return contract; }
const size_t ferry_contract_length = sizeof contract;

static const uint8_t actions_js[] = {
#embed "page/actions.js"
};
static const uint8_t admin_css[] = {
#embed "page/admin.css"
};
static const uint8_t admin_view_js[] = {
#embed "page/admin-view.js"
};
static const uint8_t api_js[] = {
#embed "page/api.js"
};
static const uint8_t app_js[] = {
#embed "page/app.js"
};
static const uint8_t base_css[] = {
#embed "page/base.css"
};
static const uint8_t bytes_js[] = {
#embed "page/bytes.js"
};
static const uint8_t decision_dialog_js[] = {
#embed "page/decision-dialog.js"
};
static const uint8_t decision_forms_js[] = {
#embed "page/decision-forms.js"
};
static const uint8_t decision_trust_js[] = {
#embed "page/decision-trust.js"
};
static const uint8_t decisions_view_js[] = {
#embed "page/decisions-view.js"
};
static const uint8_t decisions_js[] = {
#embed "page/decisions.js"
};
static const uint8_t detail_js[] = {
#embed "page/detail.js"
};
static const uint8_t dom_js[] = {
#embed "page/dom.js"
};
static const uint8_t errors_js[] = {
#embed "page/errors.js"
};
static const uint8_t feed_worker_js[] = {
#embed "page/feed-worker.js"
};
static const uint8_t feed_js[] = {
#embed "page/feed.js"
};
static const uint8_t focus_js[] = {
#embed "page/focus.js"
};
static const uint8_t form_js[] = {
#embed "page/form.js"
};
static const uint8_t format_js[] = {
#embed "page/format.js"
};
static const uint8_t graph_js[] = {
#embed "page/graph.js"
};
static const uint8_t index_html[] = {
#embed "page/index.html"
};
static const uint8_t list_css[] = {
#embed "page/list.css"
};
static const uint8_t live_js[] = {
#embed "page/live.js"
};
static const uint8_t new_options_js[] = {
#embed "page/new-options.js"
};
static const uint8_t new_js[] = {
#embed "page/new.js"
};
static const uint8_t notes_js[] = {
#embed "page/notes.js"
};
static const uint8_t overview_js[] = {
#embed "page/overview.js"
};
static const uint8_t preview_js[] = {
#embed "page/preview.js"
};
static const uint8_t quotas_js[] = {
#embed "page/quotas.js"
};
static const uint8_t rates_js[] = {
#embed "page/rates.js"
};
static const uint8_t rights_js[] = {
#embed "page/rights.js"
};
static const uint8_t row_view_js[] = {
#embed "page/row-view.js"
};
static const uint8_t rows_js[] = {
#embed "page/rows.js"
};
static const uint8_t secret_js[] = {
#embed "page/secret.js"
};
static const uint8_t session_config_js[] = {
#embed "page/session-config.js"
};
static const uint8_t session_form_js[] = {
#embed "page/session-form.js"
};
static const uint8_t session_stores_js[] = {
#embed "page/session-stores.js"
};
static const uint8_t sessions_view_js[] = {
#embed "page/sessions-view.js"
};
static const uint8_t sessions_js[] = {
#embed "page/sessions.js"
};
static const uint8_t shell_css[] = {
#embed "page/shell.css"
};
static const uint8_t sign_in_js[] = {
#embed "page/sign-in.js"
};
static const uint8_t spans_js[] = {
#embed "page/spans.js"
};
static const uint8_t table_js[] = {
#embed "page/table.js"
};
static const uint8_t tasks_view_js[] = {
#embed "page/tasks-view.js"
};
static const uint8_t tasks_js[] = {
#embed "page/tasks.js"
};
static const uint8_t tenant_form_js[] = {
#embed "page/tenant-form.js"
};
static const uint8_t tenants_js[] = {
#embed "page/tenants.js"
};
static const uint8_t timeline_js[] = {
#embed "page/timeline.js"
};
static const uint8_t tokens_js[] = {
#embed "page/tokens.js"
};
static const uint8_t upload_js[] = {
#embed "page/upload.js"
};
static const uint8_t urls_js[] = {
#embed "page/urls.js"
};
static const uint8_t views_css[] = {
#embed "page/views.css"
};
static const uint8_t waterfall_js[] = {
#embed "page/waterfall.js"
};
static const uint8_t webhooks_view_js[] = {
#embed "page/webhooks-view.js"
};

#define FILE_OF(name, type, bytes) {name, type, bytes, sizeof bytes}
#define SCRIPT(name, bytes) FILE_OF(name, "text/javascript; charset=utf-8", bytes)
#define STYLE(name, bytes) FILE_OF(name, "text/css; charset=utf-8", bytes)

static const struct ferry_page_file page_files[] = {
    FILE_OF("index.html", "text/html; charset=utf-8", index_html),
    STYLE("admin.css", admin_css),
    STYLE("base.css", base_css),
    STYLE("list.css", list_css),
    STYLE("shell.css", shell_css),
    STYLE("views.css", views_css),
    SCRIPT("actions.js", actions_js),
    SCRIPT("admin-view.js", admin_view_js),
    SCRIPT("api.js", api_js),
    SCRIPT("app.js", app_js),
    SCRIPT("bytes.js", bytes_js),
    SCRIPT("decision-dialog.js", decision_dialog_js),
    SCRIPT("decision-forms.js", decision_forms_js),
    SCRIPT("decision-trust.js", decision_trust_js),
    SCRIPT("decisions-view.js", decisions_view_js),
    SCRIPT("decisions.js", decisions_js),
    SCRIPT("detail.js", detail_js),
    SCRIPT("dom.js", dom_js),
    SCRIPT("errors.js", errors_js),
    SCRIPT("feed-worker.js", feed_worker_js),
    SCRIPT("feed.js", feed_js),
    SCRIPT("focus.js", focus_js),
    SCRIPT("form.js", form_js),
    SCRIPT("format.js", format_js),
    SCRIPT("graph.js", graph_js),
    SCRIPT("live.js", live_js),
    SCRIPT("new-options.js", new_options_js),
    SCRIPT("new.js", new_js),
    SCRIPT("notes.js", notes_js),
    SCRIPT("overview.js", overview_js),
    SCRIPT("preview.js", preview_js),
    SCRIPT("quotas.js", quotas_js),
    SCRIPT("rates.js", rates_js),
    SCRIPT("rights.js", rights_js),
    SCRIPT("row-view.js", row_view_js),
    SCRIPT("rows.js", rows_js),
    SCRIPT("secret.js", secret_js),
    SCRIPT("session-config.js", session_config_js),
    SCRIPT("session-form.js", session_form_js),
    SCRIPT("session-stores.js", session_stores_js),
    SCRIPT("sessions-view.js", sessions_view_js),
    SCRIPT("sessions.js", sessions_js),
    SCRIPT("sign-in.js", sign_in_js),
    SCRIPT("spans.js", spans_js),
    SCRIPT("table.js", table_js),
    SCRIPT("tasks-view.js", tasks_view_js),
    SCRIPT("tasks.js", tasks_js),
    SCRIPT("tenant-form.js", tenant_form_js),
    SCRIPT("tenants.js", tenants_js),
    SCRIPT("timeline.js", timeline_js),
    SCRIPT("tokens.js", tokens_js),
    SCRIPT("upload.js", upload_js),
    SCRIPT("urls.js", urls_js),
    SCRIPT("waterfall.js", waterfall_js),
    SCRIPT("webhooks-view.js", webhooks_view_js),
};
const struct ferry_page_file *ferry_page_files(void) { return page_files; }
const size_t ferry_page_file_count = sizeof page_files / sizeof *page_files;
