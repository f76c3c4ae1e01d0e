/* Shows the articles of the demo API in a window of GTK 4: a list with a search field and a reload button, and a page for
 * one article. An error is shown above the data and does not hide it.
 *
 *   articles_gtk BASE_URL                          the demo API: http://127.0.0.1:8080/v1
 *   articles_gtk BASE_URL --test SCREENSHOT.png    uses the window by itself, checks what it shows, and saves a picture */
#include "nightjar_glib.h"
#include <gtk/gtk.h>

/* A page of the window: a resource, and the widgets that show its snapshots. */
typedef struct page {
  nj_resource *resource;
  nj_resource_observer *observer;
  void (*show)(struct page *page, const nj_response *data);
  char *shown; /* the body that is shown */
  GtkWidget *box, *content, *spinner, *problem, *message, *retry;
} page;

typedef struct app {
  nj_client *client;
  nj_queue *queue;
  GSource *source;
  page list, article;
  GtkWidget *window, *pages, *search, *reload, *rows, *back, *title, *text;
  const char *base_url, *picture; /* the picture only with --test */
  int status;
} app;

/* ------------------------------------------------------------------------------------------------------- pages --- */

static void ignore(void *context, const nj_response *res, const nj_error *err) {
  (void)context, (void)res, (void)err; /* the snapshots contain the result */
}

/* Loads the data of a page again: the buttons Reload and Try again. */
static void reload(GtkButton *button, gpointer data) {
  (void)button;
  page *page = data;
  if (page->resource) nj_task_release(nj_resource_reload(page->resource, ignore, NULL, NULL));
}

/* Draws the newest snapshot. Runs in nj_queue_poll, on the thread of GTK. */
static void changed(void *context, const nj_snapshot *snapshot) {
  page *page = context;
  const nj_error *err = nj_snapshot_error(snapshot);
  const nj_response *data = nj_snapshot_data(snapshot);
  gtk_spinner_set_spinning(GTK_SPINNER(page->spinner), nj_snapshot_get_phase(snapshot) == NJ_RESOURCE_LOADING);
  gtk_label_set_text(GTK_LABEL(page->message), err ? nj_error_user_message(err) : "");
  gtk_widget_set_visible(page->problem, err != NULL);
  gtk_widget_set_opacity(page->content, nj_snapshot_is_stale(snapshot) ? 0.6 : 1);
  /* Equal data keeps the rows, with the focus and the position. */
  const char *body = data ? nj_response_body(data, NULL) : NULL;
  if (!body || g_strcmp0(body, page->shown) == 0) return;
  g_free(page->shown);
  page->shown = g_strdup(body);
  page->show(page, data);
}

/* Loads a path and shows it, until page_close. */
static void page_open(app *app, page *page, const char *path, const char *options) {
  nj_error *err = NULL;
  nj_request *req = nj_request_new("GET", path);
  page->resource = nj_resource_new(app->client, req, options, strlen(options), app->queue, &err);
  if (page->resource) page->observer = nj_resource_observe(page->resource, changed, page, &err);
  if (err) g_warning("%s", nj_error_message(err));
  nj_error_release(err);
  nj_request_free(req);
}

/* Cancels the load in progress. */
static void page_close(page *page) {
  nj_resource_observer_free(page->observer);
  nj_resource_free(page->resource);
  page->observer = NULL, page->resource = NULL;
  g_clear_pointer(&page->shown, g_free);
}

/* Creates the box of a page: the error with its button, and the content in a scrolled window. The spinner is for the
 * header bar. */
static void page_build(page *page, GtkWidget *content) {
  page->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  page->spinner = gtk_spinner_new();
  page->problem = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  page->message = gtk_label_new("");
  page->retry = gtk_button_new_with_label("Try again");
  page->content = content;
  gtk_label_set_wrap(GTK_LABEL(page->message), TRUE);
  gtk_label_set_xalign(GTK_LABEL(page->message), 0);
  gtk_widget_set_hexpand(page->message, TRUE);
  gtk_widget_add_css_class(page->message, "error");
  gtk_widget_set_visible(page->problem, FALSE);
  gtk_box_append(GTK_BOX(page->problem), page->message);
  gtk_box_append(GTK_BOX(page->problem), page->retry);
  g_signal_connect(page->retry, "clicked", G_CALLBACK(reload), page);
  GtkWidget *scrolled = gtk_scrolled_window_new();
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), content);
  gtk_widget_set_vexpand(scrolled, TRUE);
  gtk_box_append(GTK_BOX(page->box), page->problem);
  gtk_box_append(GTK_BOX(page->box), scrolled);
}

/* -------------------------------------------------------------------------------------------------------- list --- */

static void show_list(page *page, const nj_response *data) {
  GtkListBox *rows = GTK_LIST_BOX(page->content);
  GtkListBoxRow *row;
  while ((row = gtk_list_box_get_row_at_index(rows, 0))) gtk_list_box_remove(rows, GTK_WIDGET(row));
  size_t count = 0;
  nj_response_json_count(data, "/results", &count, NULL);
  for (size_t i = 0; i < count; i++) {
    g_autofree char *title_at = g_strdup_printf("/results/%zu/title", i), *id_at = g_strdup_printf("/results/%zu/id", i);
    const char *title = "";
    int64_t id = 0;
    nj_response_json_string(data, title_at, &title, NULL, NULL);
    nj_response_json_int64(data, id_at, &id, NULL);
    GtkWidget *label = gtk_label_new(title);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_list_box_append(rows, label);
    row = gtk_list_box_get_row_at_index(rows, (int)i);
    g_object_set_data_full(G_OBJECT(row), "path", g_strdup_printf("/articles/%" G_GINT64_FORMAT, id), g_free);
  }
}

/* Runs for each change of the search field. The option debounce waits for a pause of 300 ms. */
static void searched(GtkEditable *search, gpointer data) {
  app *app = data;
  g_autofree char *text = g_uri_escape_string(gtk_editable_get_text(search), NULL, FALSE);
  g_autofree char *path = g_strdup_printf("/articles?per_page=50&q=%s", text);
  nj_resource_set_path(app->list.resource, path, NULL);
}

/* ----------------------------------------------------------------------------------------------------- article --- */

static void show_article(page *page, const nj_response *data) {
  const char *title = "", *text = "";
  nj_response_json_string(data, "/title", &title, NULL, NULL);
  nj_response_json_string(data, "/body", &text, NULL, NULL);
  GtkWidget *title_label = gtk_widget_get_first_child(page->content);
  gtk_label_set_text(GTK_LABEL(title_label), title);
  gtk_label_set_text(GTK_LABEL(gtk_widget_get_next_sibling(title_label)), text);
}

static void set_page(app *app, page *page) {
  gtk_stack_set_visible_child(GTK_STACK(app->pages), page->box);
  gtk_widget_set_visible(app->back, page == &app->article);
  gtk_widget_set_visible(app->search, page == &app->list);
  gtk_widget_set_visible(app->list.spinner, page == &app->list);
  gtk_widget_set_visible(app->article.spinner, page == &app->article);
}

static void open_article(app *app, const char *path) {
  page_close(&app->article);
  gtk_label_set_text(GTK_LABEL(app->title), "");
  gtk_label_set_text(GTK_LABEL(app->text), "");
  set_page(app, &app->article);
  page_open(app, &app->article, path, "{}");
}

static void activated(GtkListBox *rows, GtkListBoxRow *row, gpointer data) {
  (void)rows;
  open_article(data, g_object_get_data(G_OBJECT(row), "path"));
}

/* Returns to the list, which is still current. A load of the article in progress is cancelled. */
static void back(GtkButton *button, gpointer data) {
  (void)button;
  app *app = data;
  page_close(&app->article);
  set_page(app, &app->list);
}

static void reload_visible(GtkButton *button, gpointer data) {
  app *app = data;
  reload(button, app->article.resource ? &app->article : &app->list);
}

/* ------------------------------------------------------------------------------------------------------ window --- */

/* The widgets are destroyed, so no snapshot may follow. */
static void destroyed(GtkWidget *window, gpointer data) {
  (void)window;
  app *app = data;
  page_close(&app->article);
  page_close(&app->list);
}

static void build(app *app, GtkApplication *application) {
  app->rows = gtk_list_box_new();
  app->title = gtk_label_new("");
  app->text = gtk_label_new("");
  GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_add_css_class(app->title, "title-2");
  gtk_label_set_wrap(GTK_LABEL(app->text), TRUE);
  gtk_box_append(GTK_BOX(texts), app->title);
  gtk_box_append(GTK_BOX(texts), app->text);
  app->list.show = show_list, app->article.show = show_article;
  page_build(&app->list, app->rows);
  page_build(&app->article, texts);

  app->pages = gtk_stack_new();
  gtk_stack_add_child(GTK_STACK(app->pages), app->list.box);
  gtk_stack_add_child(GTK_STACK(app->pages), app->article.box);
  app->search = gtk_search_entry_new();
  app->reload = gtk_button_new_with_label("Reload");
  app->back = gtk_button_new_with_label("Back");
  GtkWidget *bar = gtk_header_bar_new();
  gtk_header_bar_pack_start(GTK_HEADER_BAR(bar), app->back);
  gtk_header_bar_set_title_widget(GTK_HEADER_BAR(bar), app->search);
  gtk_header_bar_pack_end(GTK_HEADER_BAR(bar), app->reload);
  gtk_header_bar_pack_end(GTK_HEADER_BAR(bar), app->list.spinner);
  gtk_header_bar_pack_end(GTK_HEADER_BAR(bar), app->article.spinner);
  g_signal_connect(app->search, "changed", G_CALLBACK(searched), app);
  g_signal_connect(app->reload, "clicked", G_CALLBACK(reload_visible), app);
  g_signal_connect(app->back, "clicked", G_CALLBACK(back), app);
  g_signal_connect(app->rows, "row-activated", G_CALLBACK(activated), app);

  app->window = gtk_application_window_new(application);
  g_signal_connect(app->window, "destroy", G_CALLBACK(destroyed), app);
  gtk_window_set_title(GTK_WINDOW(app->window), "Articles");
  gtk_window_set_default_size(GTK_WINDOW(app->window), 520, 640);
  gtk_window_set_titlebar(GTK_WINDOW(app->window), bar);
  gtk_window_set_child(GTK_WINDOW(app->window), app->pages);
}

#include "articles_gtk_test.h"

static void activate(GtkApplication *application, gpointer data) {
  app *app = data;
  build(app, application);
  set_page(app, &app->list);
  page_open(app, &app->list, "/articles?per_page=50",
            "{\"debounce\": 0.3, \"keep_previous\": true, \"reload_on\": [\"network\", \"children\"]}");
  gtk_window_present(GTK_WINDOW(app->window));
  if (app->picture) test_start(app);
}

int main(int argc, char **argv) {
  if (argc != 2 && (argc != 4 || strcmp(argv[2], "--test") != 0)) {
    g_printerr("usage: %s BASE_URL [--test SCREENSHOT.png]\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  app app = {.client = nj_client_new(config, &err), .queue = nj_queue_new(), .base_url = argv[1]};
  app.picture = argc == 4 ? argv[3] : NULL;
  nj_config_free(config);
  app.source = nightjar_glib_source_new(app.queue);
  if (!app.client || !app.source) {
    g_printerr("%s\n", err ? nj_error_message(err) : "no file descriptor is left");
    return 1;
  }
  g_source_attach(app.source, NULL);

  GtkApplication *application = gtk_application_new("org.example.Articles", G_APPLICATION_NON_UNIQUE);
  g_signal_connect(application, "activate", G_CALLBACK(activate), &app);
  int status = g_application_run(G_APPLICATION(application), 1, argv);

  g_source_destroy(app.source);
  g_source_unref(app.source);
  nj_queue_free(app.queue);
  nj_client_free(app.client);
  g_object_unref(application);
  return status ? status : app.status;
}
