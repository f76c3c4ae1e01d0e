/* articles_gtk_test.h - the option --test of articles_gtk.c: uses the widgets as a person would, and checks what they
 * show. Included by articles_gtk.c. A step acts once; then its check must become true within 20 seconds. */

static struct {
  size_t step;
  gint64 deadline;
  int64_t requests, abandoned; /* for the list, and slow ones that were cancelled, when the step began */
} test;

/* Sends a request to the demo API and waits, which a program with a window would not do. Returns the response or NULL. */
static nj_response *test_send(app *app, const char *method, const char *path, const char *json) {
  g_autofree char *url = g_uri_resolve_relative(app->base_url, path, G_URI_FLAGS_NONE, NULL);
  nj_request *req = nj_request_new(method, url);
  if (json) nj_request_set_body_json(req, json, strlen(json));
  nj_error *err = NULL;
  nj_response *res = nj_client_send(app->client, req, &err);
  if (err) g_printerr("%s\n", nj_error_message(err));
  nj_error_release(err);
  nj_request_free(req);
  return res;
}

/* Returns a number of the server's statistics, or 0 if there is none. */
static int64_t test_count(app *app, const char *pointer) {
  nj_response *res = test_send(app, "GET", "/__stats", NULL);
  int64_t count = 0;
  if (res) nj_response_json_int64(res, pointer, &count, NULL);
  nj_response_release(res);
  return count;
}

static int64_t list_requests(app *app) { return test_count(app, "/paths/~1v1~1articles/requests"); }

static int64_t abandoned_requests(app *app) { return test_count(app, "/abandoned/~1v1~1slow?key=gtk"); }

static void outage(app *app, const char *json) { nj_response_release(test_send(app, "POST", "/__control", json)); }

static void search(app *app, const char *text) { gtk_editable_set_text(GTK_EDITABLE(app->search), text); }

static void click(GtkWidget *button) { g_signal_emit_by_name(button, "clicked"); }

/* Whether the page is visible, with no load in progress and with or without an error. */
static bool shows(app *app, page *page, bool has_error) {
  return gtk_stack_get_visible_child(GTK_STACK(app->pages)) == page->box &&
         gtk_widget_get_visible(page->problem) == has_error &&
         (gtk_label_get_text(GTK_LABEL(page->message))[0] != 0) == has_error &&
         !gtk_spinner_get_spinning(GTK_SPINNER(page->spinner));
}

static bool shows_list(app *app, int rows, bool has_error) {
  GtkListBox *list = GTK_LIST_BOX(app->rows);
  return shows(app, &app->list, has_error) && !gtk_list_box_get_row_at_index(list, rows) &&
         (rows == 0 || gtk_list_box_get_row_at_index(list, rows - 1));
}

static bool title_is(app *app, const char *title) { return strcmp(gtk_label_get_text(GTK_LABEL(app->title)), title) == 0; }

/* ------------------------------------------------------------------------------------------------------- steps --- */

static void begin(app *app) { (void)app; }
static bool has_all(app *app) { return shows_list(app, 25, false); }

static void type_words(app *app) { search(app, "p"), search(app, "pa"), search(app, "packets"); }
static bool found(app *app) { return shows_list(app, 1, false) && list_requests(app) == test.requests + 1; }

static void type_unknown(app *app) { search(app, "no such article & none"); }
static bool has_no_rows(app *app) { return shows_list(app, 0, false); }

static void clear(app *app) { search(app, ""); }

static void select_first(app *app) {
  gtk_widget_activate(GTK_WIDGET(gtk_list_box_get_row_at_index(GTK_LIST_BOX(app->rows), 0)));
}
static bool has_article(app *app) {
  return shows(app, &app->article, false) && title_is(app, "The bird that flies by moonlight");
}

static void go_back(app *app) { click(app->back); }

static void select_and_leave(app *app) {
  select_first(app);
  click(app->back);
}
static bool has_left(app *app) { return has_all(app) && title_is(app, "") && !app->article.resource; }

static void select_slow(app *app) { open_article(app, "/slow?ms=30000&key=gtk"); }
static bool is_loading(app *app) { return test_count(app, "/in_progress/~1v1~1slow?key=gtk") == 1; }
static bool is_cancelled(app *app) { return has_left(app) && abandoned_requests(app) == test.abandoned + 1; }

static void select_absent(app *app) { open_article(app, "/articles/999999"); }
static bool is_absent(app *app) { return shows(app, &app->article, true) && title_is(app, ""); }

static void reload_list(app *app) { click(app->reload); }
static bool is_reloaded(app *app) { return has_all(app) && list_requests(app) == test.requests + 1; }

static void fail(app *app) {
  outage(app, "{\"outage\": \"503\"}");
  click(app->reload);
}
static bool has_failed(app *app) { return shows_list(app, 25, true); }

static void recover(app *app) {
  outage(app, "{\"outage\": \"none\"}");
  click(app->list.retry);
}

static bool is_saved(app *app) {
  int width = gtk_widget_get_width(app->window), height = gtk_widget_get_height(app->window);
  GdkPaintable *paintable = gtk_widget_paintable_new(app->window);
  GtkSnapshot *snapshot = gtk_snapshot_new();
  gdk_paintable_snapshot(paintable, snapshot, width, height);
  GskRenderNode *node = gtk_snapshot_free_to_node(snapshot);
  g_object_unref(paintable);
  if (!node) return false; /* the window is not drawn yet */
  GskRenderer *renderer = gtk_native_get_renderer(GTK_NATIVE(app->window));
  GdkTexture *texture = gsk_renderer_render_texture(renderer, node, &GRAPHENE_RECT_INIT(0, 0, width, height));
  gsk_render_node_unref(node);
  bool saved = gdk_texture_save_to_png(texture, app->picture);
  g_object_unref(texture);
  return saved;
}

static const struct {
  const char *name;
  void (*act)(app *app);
  bool (*check)(app *app);
} test_steps[] = {
    {"the list is loaded", begin, has_all},
    {"a search sends one request for the last text", type_words, found},
    {"a search without results shows none", type_unknown, has_no_rows},
    {"an empty search shows all", clear, has_all},
    {"a row opens its article", select_first, has_article},
    {"Back shows the list", go_back, has_all},
    {"an article that is left at once is not shown", select_and_leave, has_left},
    {"an article is loading", select_slow, is_loading},
    {"Back cancels the load", go_back, is_cancelled},
    {"an absent article shows an error", select_absent, is_absent},
    {"Back shows the list without the error", go_back, has_all},
    {"Reload loads the list", reload_list, is_reloaded},
    {"an error does not hide the list", fail, has_failed},
    {"the window is saved", begin, is_saved},
    {"Try again removes the error", recover, has_all},
};

/* Runs every 20 ms in the main loop, so the window draws and loads meanwhile. */
static gboolean test_advance(gpointer data) {
  app *app = data;
  if (test.deadline == 0) {
    test.deadline = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
    test.requests = list_requests(app);
    test.abandoned = abandoned_requests(app);
    test_steps[test.step].act(app);
    return G_SOURCE_CONTINUE;
  }
  bool is_done = test_steps[test.step].check(app);
  if (!is_done && g_get_monotonic_time() < test.deadline) return G_SOURCE_CONTINUE;
  g_print("%s  %s\n", is_done ? "ok    " : "NOT OK", test_steps[test.step].name);
  test.deadline = 0;
  test.step++;
  if (is_done && test.step < G_N_ELEMENTS(test_steps)) return G_SOURCE_CONTINUE;
  app->status = is_done ? 0 : 1;
  gtk_window_close(GTK_WINDOW(app->window));
  return G_SOURCE_REMOVE;
}

static void test_start(app *app) { g_timeout_add(20, test_advance, app); }
