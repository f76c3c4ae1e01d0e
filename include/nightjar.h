/* nightjar.h - embeddable API client. What is not declared here is not part of the interface.
 *
 * Threads. Every function may be called from any thread unless its comment says otherwise. Our threads never run your
 * code: callbacks run inside nj_queue_poll, on the thread that calls it, or inside the blocking call that they belong
 * to. Configurations, requests, forms and scripts are for one thread at a time; responses and errors never change.
 *
 * Ownership. What a _new, _send or _start returns is yours: free it with the function named after its type. A getter's
 * pointer is borrowed and lives as long as its handle. Arguments are copied before the call returns, except where a
 * comment says otherwise. Every _free and _release accepts NULL.
 *
 * Results. A function that fails returns NULL or a status other than NJ_OK and, where it takes an `out_error` that is
 * not NULL, leaves an error there that you free. On success it sets *out_error to NULL. A getter that is given NULL returns 0 or NULL. Nothing sets errno,
 * prints, or ends the process, except as the next paragraph says.
 *
 * Memory. Bodies, JSON documents and files that need more memory than the process has fail with NJ_NO_MEMORY. Allocations of up to
 * 64 KiB cannot fail in this way: the Swift runtime ends the process with a signal. Limits such as nj_config_set_max_body keep
 * the memory that a server can use small.
 *
 * Text is UTF-8; NUL ends it, except where a length goes with it. Durations are doubles in seconds, sizes are bytes.
 *
 * Signals, fork, exit. Our threads take none of the process's signals, and the disposition of SIGPIPE stays as it was.
 * After fork the child's handles from before answer NJ_FORKED; what the child makes anew works. The library stays
 * mapped after dlclose.
 */
#ifndef NIGHTJAR_H
#define NIGHTJAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define NJ_API __attribute__((visibility("default")))
#else
#define NJ_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------- version --- */

#define NJ_VERSION_MAJOR 0
#define NJ_VERSION_MINOR 1
#define NJ_VERSION_PATCH 0

/** The version of the library that is loaded, "0.1.0"; the macros above tell the one that was compiled against. */
NJ_API const char *nj_version(void);

/** The same as one number for comparing: major * 1000000 + minor * 1000 + patch. */
NJ_API uint32_t nj_version_number(void);

/* ----------------------------------------------------------------------------------------------------- values --- */

/** How a call ended. Made for a switch. Members may be added: keep a default branch. */
typedef enum nj_status {
  NJ_OK = 0,
  NJ_INVALID_ARGUMENT = 1, /* an argument breaks its documented bounds: NULL, bad UTF-8, a number out of range */
  NJ_FORKED = 2,           /* the handle belongs to the parent of this forked process */
  NJ_CLOSED = 3,           /* the client or queue was closed */
  NJ_REENTRANT = 4,        /* called from inside a callback of the object that it would wait for */
  NJ_NO_MEMORY = 5,        /* the system has no memory for content of this size: a body, a JSON document, a file */

  NJ_CANCELLED = 10,       /* by nj_task_cancel, or because the client or queue was freed */
  NJ_TIMEOUT = 11,         /* nj_error_phase says which limit ran out: connect, idle or total */
  NJ_INVALID_URL = 12,
  NJ_INVALID_REQUEST = 13, /* a header, body or option that cannot be sent */
  NJ_OFFLINE = 14,         /* no network is there */
  NJ_DNS = 15,             /* the host's name has no address */
  NJ_CONNECT = 16,         /* no address accepted the connection, or the system has no thread or descriptor left */
  NJ_TLS = 17,             /* handshake or certificate */
  NJ_PIN_MISMATCH = 18,
  NJ_CONNECTION_LOST = 19, /* the connection ended before the answer did */
  NJ_PROTOCOL = 20,        /* the server broke the rules of HTTP */
  NJ_TOO_LARGE = 21,       /* a head or body beyond its limit */

  NJ_UNAUTHORIZED = 30, /* 401 */
  NJ_FORBIDDEN = 31,    /* 403 */
  NJ_NOT_FOUND = 32,    /* 404 */
  NJ_RATE_LIMITED = 33, /* 429 */
  NJ_CLIENT = 34,       /* any other unexpected status below 500 */
  NJ_SERVER = 35,       /* 5xx */

  NJ_DECODING = 40,
  NJ_CACHE_MISS = 41, /* the server was not to be asked, and the cache has no answer */
  NJ_STORAGE = 42,
  NJ_SCRIPT = 43 /* an error in a Lua script */
} nj_status;

/** The name that Lua and logs use: "connection_lost". "unknown" for a number that is none. Static. */
NJ_API const char *nj_status_name(nj_status status);

/** Where in the call it went wrong; for NJ_TIMEOUT, which limit ran out. */
typedef enum nj_phase {
  NJ_PHASE_NONE = 0,
  NJ_PHASE_DNS = 1,
  NJ_PHASE_CONNECT = 2,
  NJ_PHASE_TLS = 3,
  NJ_PHASE_SEND = 4,
  NJ_PHASE_RECEIVE = 5,
  NJ_PHASE_IDLE = 6,
  NJ_PHASE_TOTAL = 7
} nj_phase;

/** Where an answer came from. Members may be added. */
typedef enum nj_source {
  NJ_SOURCE_NETWORK = 0,
  NJ_SOURCE_COALESCED = 1,   /* the exchange of another call that was alike: nj_config_set_coalesce, or a cache */
  NJ_SOURCE_CACHE = 2,       /* the cache, fresh */
  NJ_SOURCE_REVALIDATED = 3, /* the cache, after the server has said that it still holds (304) */
  NJ_SOURCE_STALE = 4        /* the cache, stale, where the policy, the request or the answer allow it */
} nj_source;

/** How much the log tells, from least to most. */
typedef enum nj_log_level {
  NJ_LOG_OFF = 0,
  NJ_LOG_ERROR = 1,
  NJ_LOG_WARNING = 2,
  NJ_LOG_INFO = 3, /* a line a call */
  NJ_LOG_DEBUG = 4
} nj_log_level;

typedef struct nj_error nj_error;       /* immutable; kind, messages, HTTP status, number of the OS or of TLS */
typedef struct nj_config nj_config;     /* how a client will behave; mutable until a client is made of it */
typedef struct nj_client nj_client;     /* pool, policies, and the loop they live on */
typedef struct nj_request nj_request;   /* mutable; sending copies it, so one can be sent any number of times */
typedef struct nj_form nj_form;         /* multipart/form-data; mutable, and copied into requests */
typedef struct nj_response nj_response; /* immutable, reference counted */
typedef struct nj_task nj_task;         /* one call or login, in progress or finished; reference counted */
typedef struct nj_batch nj_batch;       /* many calls, a few at a time; reference counted */
typedef struct nj_pagination nj_pagination; /* how a list goes on from page to page; mutable */
typedef struct nj_pager nj_pager;       /* a list that a server gives in pages; for one thread at a time */
typedef struct nj_page nj_page;         /* one of its pages; immutable, reference counted */
typedef struct nj_outgoing nj_outgoing; /* a request on its way to the wire; valid while your callback runs */
typedef struct nj_hop nj_hop;           /* a redirect; valid while your callback runs */
typedef struct nj_token_question nj_token_question; /* a client asks for a token; reference counted */
typedef struct nj_login_prompt nj_login_prompt; /* what a person is to be shown; valid while your callback runs */
typedef struct nj_retry_question nj_retry_question; /* an attempt has failed; valid while your callback runs */
typedef struct nj_cookies nj_cookies;   /* a jar; any number of clients may share it */
typedef struct nj_catalog nj_catalog;   /* what an API can do: endpoints by name */
typedef struct nj_cache nj_cache;       /* answers that are kept; any number of clients may share it */
typedef struct nj_queue nj_queue;       /* where events of tasks wait for the thread that polls */
typedef struct nj_script nj_script;     /* a Lua interpreter; for one thread at a time */
typedef struct nj_script_call nj_script_call; /* one call of a function of yours by a script; valid while it runs */

/* --------------------------------------------------------------------------------------------------- log sink --- */

/**
 * One line of the log, secrets removed.
 *
 * @param message borrowed until the callback returns
 */
typedef void (*nj_log_fn)(void *context, nj_log_level level, const char *message);

/**
 * Sends the log of clients made from `config` to `log`, inside nj_queue_poll of `queue`.
 *
 * A queue that is not polled holds at most 1,024 lines of this log, of 1 MiB together. Further lines are dropped. The next line
 * that is delivered follows a warning with the number of dropped lines.
 *
 * @param queue   retained by the clients
 * @param context passed to `log`, never read; must live until the clients and the queue are freed
 * @return NJ_INVALID_ARGUMENT for a NULL handle or callback, or a level that is none
 */
NJ_API nj_status nj_config_set_log(nj_config *config, nj_log_level level, nj_queue *queue, nj_log_fn log,
                                   void *context);

/* ------------------------------------------------------------------------------------------------------ error --- */

/** Never NJ_OK; NJ_INVALID_ARGUMENT for NULL. */
NJ_API nj_status nj_error_kind(const nj_error *error);
NJ_API nj_phase nj_error_phase(const nj_error *error);

/** For the developer: what happened, to what, what to do. */
NJ_API const char *nj_error_message(const nj_error *error);

/** For the person at the screen: a sentence without technical words. NULL for a cancelled call. */
NJ_API const char *nj_error_user_message(const nj_error *error);

/** The URL of the call without user info and with credentials in the query masked; NULL when there is none. */
NJ_API const char *nj_error_url(const nj_error *error);

/** The status of the answer that was not expected; 0 when there was no answer. */
NJ_API int nj_error_http_status(const nj_error *error);

/** That answer with its body, borrowed (nj_response_retain keeps it); NULL when there was none. */
NJ_API const nj_response *nj_error_response(const nj_error *error);

/**
 * What the server says in the body of that answer, where it is understood: RFC 9457 problem details and the common
 * shapes ({"error": ...}, {"message": ...}, {"errors": [...]}). NULL where it does not say it. Texts are cut at 1000
 * characters; they are the server's words, so escape them before they are printed.
 */
NJ_API const char *nj_error_details_title(const nj_error *error);   /* the kind of problem */
NJ_API const char *nj_error_details_message(const nj_error *error);
NJ_API const char *nj_error_details_detail(const nj_error *error);  /* what it was this time */
NJ_API const char *nj_error_details_code(const nj_error *error);    /* for programs */
NJ_API const char *nj_error_details_type(const nj_error *error);    /* a URI, or a word */

/** What is wrong with what was sent, one by one, 32 at most. A name is NULL where the message is about all of it. */
NJ_API size_t nj_error_details_field_count(const nj_error *error);
NJ_API const char *nj_error_details_field_name_at(const nj_error *error, size_t index);
NJ_API const char *nj_error_details_field_message_at(const nj_error *error, size_t index);

/** Whether the same call may succeed later without a change. */
NJ_API bool nj_error_is_retryable(const nj_error *error);

/** Whether the server may have acted on the request although no answer came: do not blindly repeat a write. */
NJ_API bool nj_error_may_have_been_processed(const nj_error *error);

/** Seconds that the server asked to wait (Retry-After); negative when it did not say. */
NJ_API double nj_error_retry_after(const nj_error *error);

/** How many times the request was tried. */
NJ_API int nj_error_attempts(const nj_error *error);

/**
 * What the attempts before the last one failed with, first to last: the last is often the least telling. Borrowed
 * (nj_error_retain keeps one); NULL for an index that is not below the count.
 */
NJ_API size_t nj_error_earlier_count(const nj_error *error);
NJ_API const nj_error *nj_error_earlier(const nj_error *error, size_t index);

/** Why the call went as it did: see nj_response_explain and nj_response_explain_json. */
NJ_API const char *nj_error_explain(const nj_error *error);
NJ_API const char *nj_error_explain_json(const nj_error *error, size_t *out_length);

/**
 * The Idempotency-Key that was sent; NULL when there was none. Whoever sends the same request with the same key again, from
 * another process too, does not do it twice where the server knows such keys.
 */
NJ_API const char *nj_error_idempotency_key(const nj_error *error);

/** The number of the operating system beneath this error; 0 when there is none. */
NJ_API int nj_error_code(const nj_error *error);

/** Which of a batch's requests failed, from 0; -1 for an error that is of no batch, or of all of it. */
NJ_API int64_t nj_error_batch_index(const nj_error *error);

/** The command line with which curl sends the request that failed, as nj_response_curl has it; NULL when there was none. */
NJ_API const char *nj_error_curl(const nj_error *error, bool show_secrets);

/** Keeps a borrowed error: another owner of the same. NULL for NULL. */
NJ_API nj_error *nj_error_retain(const nj_error *error);

/** Frees what an `out_error` received or nj_error_retain returned. */
NJ_API void nj_error_free(nj_error *error);

/* ----------------------------------------------------------------------------------------------------- config --- */

/** The defaults: no base URL, timeouts of 5 s (connect), 30 s (idle) and 300 s (total), 64 connections a host. */
NJ_API nj_config *nj_config_new(void);
NJ_API void nj_config_free(nj_config *config);

/**
 * What relative targets are joined to: absolute, http or https, without a query; or the socket of a local daemon,
 * "unix:/run/docker.sock" or "http+unix://%2Frun%2Fdocker.sock/v1.40", which only a base URL can name. A host with other
 * letters than ASCII's is converted (IDNA 2008). User name and password in a URL become Basic credentials for its origin.
 * Checked by nj_client_new.
 */
NJ_API nj_status nj_config_set_base_url(nj_config *config, const char *url);

/**
 * Limits calls to the base URL's origin to a path and the paths below it, redirects included. Calls to that origin fail with
 * NJ_INVALID_REQUEST if their path has dot segments (also encoded, or after an encoded slash or a backslash).
 *
 * @param path encoded, without a query: "/v1". NULL, the default: any path.
 * @return NJ_INVALID_ARGUMENT if `path` is not an encoded path without a query
 */
NJ_API nj_status nj_config_set_path_scope(nj_config *config, const char *path);

/**
 * Sent with every request that does not set the same name itself, in place of what was set before; credentials
 * (Authorization, Cookie and the like) go to the base URL's origin only.
 *
 * @return NJ_INVALID_REQUEST when name or value cannot stand in a header (CR and LF among others)
 */
NJ_API nj_status nj_config_set_header(nj_config *config, const char *name, const char *value);

/** "nightjar/0.1.0" by default; NULL sends none. */
NJ_API nj_status nj_config_set_user_agent(nj_config *config, const char *user_agent);

/**
 * Sets limits of time in seconds, between 0 and 3153600000 (100 years). NJ_NO_LIMIT, which is 0, switches a limit off;
 * INFINITY does the same.
 *
 *   connect  until a connection is open, TLS included; 5 by default
 *   idle     without a byte in either direction while the request is sent or the response awaited; 30 by default
 *   total    the whole call with all attempts; 300 by default
 *
 * @return NJ_INVALID_ARGUMENT for NaN, negative numbers and more than 3153600000 seconds
 */
NJ_API nj_status nj_config_set_connect_timeout(nj_config *config, double seconds);
NJ_API nj_status nj_config_set_idle_timeout(nj_config *config, double seconds);
NJ_API nj_status nj_config_set_total_timeout(nj_config *config, double seconds);
#define NJ_NO_LIMIT (0.0)

/** Limits the bytes of a collected response body. A larger one fails with NJ_TOO_LARGE. 64 MiB by default, 2 GiB at most; larger
 * bodies can be streamed (nj_request_on_body). A body for which the process has no memory fails with NJ_NO_MEMORY. */
NJ_API nj_status nj_config_set_max_body(nj_config *config, size_t bytes);

/** Connections open at once to one origin, 1 to 65536; further calls wait in order of arrival. 64 by default. */
NJ_API nj_status nj_config_set_max_connections_per_host(nj_config *config, size_t count);

/**
 * Redirects of one call that are followed; one more is NJ_PROTOCOL, and so is a loop: a redirect back to a URL that was asked
 * by the same method, unless a cookie or a Retry-After makes the request another one. A Retry-After is waited for first. 0: a
 * redirect is an answer like any other. 10 by default. Only headers that are known to be safe are sent to another
 * origin, see forward_headers of nj_config_merge_json.
 *
 * @return NJ_INVALID_ARGUMENT for a number that is not from 0 to 100
 */
NJ_API nj_status nj_config_set_max_redirects(nj_config *config, int count);

/** Whether a redirect may lead from https to http. False by default: it is then NJ_PROTOCOL. */
NJ_API nj_status nj_config_set_allow_downgrade(nj_config *config, bool allow);

/**
 * Sets whether LF without CR ends the lines of a response, as some embedded devices send them (RFC 9112 section 2.2). False by
 * default: such a response fails with NJ_PROTOCOL.
 */
NJ_API nj_status nj_config_set_lenient_line_endings(nj_config *config, bool lenient);

/** Whether answers may come compressed (gzip, deflate, br, zstd), and are decompressed. True by default. */
NJ_API nj_status nj_config_set_decompress(nj_config *config, bool decompress);

/** Seconds that a connection is kept open without use; 60 by default. */
NJ_API nj_status nj_config_set_idle_connection_lifetime(nj_config *config, double seconds);

/**
 * The proxy for all origins but those of nj_config_set_no_proxy: "http://user:password@host:3128", https, socks5 (names
 * are looked up here) or socks5h (by the proxy); NULL for none. Over it, https goes through a tunnel, and certificates
 * are checked against the origin's name.
 *
 * Without this the environment decides, read by nj_client_new as curl reads it: http_proxy, https_proxy, all_proxy,
 * no_proxy. Addresses of this machine are no exception unless no_proxy makes them one.
 *
 * @return NJ_INVALID_URL when it is none
 */
NJ_API nj_status nj_config_set_proxy(nj_config *config, const char *url);

/**
 * The hosts that are reached without a proxy, in place of the environment's no_proxy: names with all beneath them,
 * addresses, networks ("example.com,10.0.0.0/8,[::1]"), or "*". NULL: with a proxy that was set there are none, otherwise
 * the environment decides.
 */
NJ_API nj_status nj_config_set_no_proxy(nj_config *config, const char *text);

/** Whether the environment decides about proxies (true, the default), or there is none. Replaces a proxy that was set. */
NJ_API nj_status nj_config_use_environment_proxy(nj_config *config, bool use);

/**
 * Every connection goes to the socket at `path`, whatever the URL's host is, with TLS for https; no proxy is asked. For
 * a daemon whose Host must be another than localhost; otherwise a base URL can name the socket. NULL for none.
 *
 * @return NJ_INVALID_URL for a path that is not absolute or longer than 107 bytes
 */
NJ_API nj_status nj_config_set_unix_socket(nj_config *config, const char *path);

/**
 * A PEM file of the certificate authorities to trust in place of the system's. Read by nj_client_new. RSA keys of fewer than
 * 2048 bits in certificates are accepted at present.
 */
NJ_API nj_status nj_config_set_ca_file(nj_config *config, const char *path);

/** False accepts any certificate: every connection is then open to interception. The client logs one warning, and the decisions
 * of each call contain unverified_tls. True by default. */
NJ_API nj_status nj_config_set_verify_certificates(nj_config *config, bool verify);

/** Whether the client leaves nothing on disk: nj_client_new then refuses a cookie file and a cache on disk. False by
 * default. */
NJ_API nj_status nj_config_set_ephemeral(nj_config *config, bool ephemeral);

/**
 * Sets what a JSON object names: the same keys as Lua's option table (base_url, path_scope, headers, user_agent, timeout, max_body,
 * max_connections_per_host, idle_connection_lifetime, redirect, sensitive_headers, forward_headers, decompress, cookies,
 * ephemeral, proxy, unix_socket, tls, auth, retry, cache, coalesce, rate_limit, concurrency, circuit_breaker, max_waiting,
 * limit_groups, endpoints (each as nj_catalog_add_json takes it, by name), openapi (the path of a document), openapi_folder (the
 * folder whose files documents may refer to; the document's own folder by default), response_validation (the handling of responses
 * that do not conform to their endpoint: "off", "warn" in the log, or "error"), mock, cassette and network, see there).
 *
 * `sensitive_headers` is a list of further header names that hold credentials. The library recognizes others by the words in
 * their names (X-JWT, Api_Key, X-Passwd and so on) and by their values (JSON Web Tokens, long random tokens).
 *
 * `forward_headers` is a list of header names that are also sent to other origins, with redirects, next pages and absolute URLs.
 * Without it, other origins get only headers that describe the client or the response that it accepts: Accept, Accept-Language,
 * Accept-Encoding, User-Agent, Content-Type, Range, conditions and the like. `forward_headers` must not contain Authorization,
 * Cookie or Host (NJ_INVALID_ARGUMENT). Another origin gets a Referer without its path and query.
 *
 * Options that the object does not name keep their values. `cache` is false, true (20 MB in memory), or an object of which each may be left out:
 *
 *     {"cache": {"memory": "20MB", "disk": "100MB", "path": "/home/me/.cache/app", "policy": "offline_first",
 *                "login_cookies": ["session"]}}
 *
 * @param length of `json` in bytes, which need not end in NUL
 * @return NJ_INVALID_ARGUMENT for an unknown key (the error names the nearest known one) or a wrong type (it names the
 *         key, what was wanted and what came); NJ_DECODING when it is not JSON. Then nothing has changed.
 */
NJ_API nj_status nj_config_merge_json(nj_config *config, const char *json, size_t length, nj_error **out_error);

/* ------------------------------------------------------------------------------------------------------ hooks --- */

/**
 * Runs before each call of clients made from `config`, inside nj_queue_poll of the call's queue or inside the blocking call;
 * the call waits for it, no longer than its total timeout. May change the request.
 *
 * @return NJ_OK to go on; any other status fails the call with it, and nothing is sent
 */
typedef nj_status (*nj_before_fn)(void *context, nj_outgoing *request);
NJ_API nj_status nj_config_on_request(nj_config *config, nj_before_fn before, void *context);

/**
 * Runs after each call, there too, just before nj_done_fn or the return of the blocking call. Exactly one of `response` and
 * `error` is non-NULL; both are borrowed until it returns.
 */
typedef void (*nj_after_fn)(void *context, const nj_response *response, const nj_error *error);
NJ_API nj_status nj_config_on_response(nj_config *config, nj_after_fn after, void *context);

/** Of the request as it is, secrets included. Borrowed until it is changed or the callback returns. */
NJ_API const char *nj_outgoing_method(nj_outgoing *request);
NJ_API const char *nj_outgoing_url(nj_outgoing *request);
/** NULL when there is none of that name. */
NJ_API const char *nj_outgoing_header(nj_outgoing *request, const char *name);

/**
 * Sets a header in place of those of the same name; NULL removes them.
 *
 * @return NJ_INVALID_REQUEST when it cannot stand in a header or is not for callers to set
 */
NJ_API nj_status nj_outgoing_set_header(nj_outgoing *request, const char *name, const char *value);

/* ---------------------------------------------------------------------------------------------------- cookies --- */

/** Whose cookies are kept and sent. */
typedef enum nj_cookie_policy {
  NJ_COOKIES_ALL = 0,
  NJ_COOKIES_FIRST_PARTY = 1, /* only those of the site that was asked: none of where a redirect leads */
} nj_cookie_policy;

/** An empty jar (RFC 6265bis, public suffixes by Debian's list), in memory. NULL for a policy that is none. */
NJ_API nj_cookies *nj_cookies_new(nj_cookie_policy policy);

/**
 * The jar in an SQLite file, which is read now and made when there is none, for its owner's eyes alone. Processes may share
 * the file, cookie by cookie: the last change wins. It is written in the background about once a second, when a client
 * that uses it is freed, and when nobody has it any more; cookies of the session are not written (in JSON options
 * `cookies` may ask for it: {"file": "...", "policy": "all", "keep_session": true}). All jars of one process for one file
 * share its cookies.
 *
 * A file of garbage is moved aside, to `path`.damaged-TIME. When the disk is full or may not be written, the cookies are
 * in memory and saved later. The logs of the clients tell of both.
 *
 * @return NULL: NJ_STORAGE when the file can never serve (no such folder, another program's database), NJ_FORKED in the
 *         child of a process that had it open, or NJ_INVALID_ARGUMENT
 */
NJ_API nj_cookies *nj_cookies_open(const char *path, nj_cookie_policy policy, nj_error **out_error);

/**
 * Writes what is not in the file yet, and returns when it is there. NJ_OK for a jar in memory.
 *
 * @return NJ_STORAGE when the disk does not take it; it is tried again all the same
 */
NJ_API nj_status nj_cookies_flush(nj_cookies *cookies, nj_error **out_error);

/** Clients that were made with it keep it alive. */
NJ_API void nj_cookies_free(nj_cookies *cookies);

/** Clients made from `config` keep cookies here; NULL: they keep none, which is the default. */
NJ_API nj_status nj_config_set_cookies(nj_config *config, nj_cookies *cookies);

/** The jar of a client, yours to free; NULL: it keeps no cookies. */
NJ_API nj_cookies *nj_client_cookies(nj_client *client);

/**
 * Stores what a Set-Cookie field says, as if `url` had sent it: "name=value; Path=/; Secure".
 *
 * @return NJ_INVALID_ARGUMENT for a cookie that the rules refuse (the error says why); NJ_INVALID_URL
 */
NJ_API nj_status nj_cookies_set(nj_cookies *cookies, const char *url, const char *set_cookie, nj_error **out_error);

/** Deletes the cookies that match all that is not NULL; a domain matches itself alone. @return how many there were */
NJ_API size_t nj_cookies_delete(nj_cookies *cookies, const char *name, const char *domain, const char *path);

/** Deletes all cookies, also those that another process has in the same file. */
NJ_API void nj_cookies_clear(nj_cookies *cookies);

/**
 * Adds the cookies of a cookies.txt, as curl and browsers' exports have it. Lines that are wrong are skipped.
 *
 * @param out_skipped receives how many were; may be NULL
 * @return NJ_STORAGE if the file cannot be read, or is a pipe or a device, which could block this thread
 */
NJ_API nj_status nj_cookies_import(nj_cookies *cookies, const char *path, size_t *out_skipped, nj_error **out_error);

/**
 * Writes the cookies as a cookies.txt that only its owner may read. If this fails, an existing file is unchanged.
 *
 * @return NJ_STORAGE if the file cannot be written, or is a pipe or a device
 */
NJ_API nj_status nj_cookies_export(const nj_cookies *cookies, const char *path, nj_error **out_error);

/** The cookies as they are now, by domain, path and name. */
typedef struct nj_cookie_list nj_cookie_list;
NJ_API nj_cookie_list *nj_cookies_list(const nj_cookies *cookies);
NJ_API void nj_cookie_list_free(nj_cookie_list *list);
NJ_API size_t nj_cookie_list_count(const nj_cookie_list *list);

/** Of the cookie at `index`; NULL, 0 or false for an index that is not below the count. A value may be secret. */
NJ_API const char *nj_cookie_list_name_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_value_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_domain_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_path_at(const nj_cookie_list *list, size_t index);
/** Seconds since 1970; 0 for a cookie of the session. */
NJ_API double nj_cookie_list_expires_at(const nj_cookie_list *list, size_t index);
/** Sent by https alone; not for scripts in pages. */
NJ_API bool nj_cookie_list_secure_at(const nj_cookie_list *list, size_t index);
NJ_API bool nj_cookie_list_http_only_at(const nj_cookie_list *list, size_t index);
/** "none", "lax", "strict", or "unspecified" where the server said nothing. */
NJ_API const char *nj_cookie_list_same_site_at(const nj_cookie_list *list, size_t index);

/* ------------------------------------------------------------------------------------------------------ cache --- */

/* Answers that are given again as long as they are good (RFC 9111), for GET and HEAD. The response to a POST is stored for later
 * GET and HEAD requests if the server gives it a lifetime and its Content-Location is the URL of the request (RFC 9110 section
 * 9.3.3); a POST itself always goes to the server. A private cache: what was asked for with
 * one credential is never given to who comes with another, or with none. Answers carry Age and Cache-Status (RFC 9211);
 * nj_response_source and nj_response_explain tell where they came from and why. It never fails a call: a disk that is full,
 * slow, damaged or not to be written costs hits, and the logs of the clients tell of it. */

/** What a call wants of the cache. */
typedef enum nj_cache_policy {
  NJ_CACHE_PROTOCOL = 0,      /* RFC 9111: what is fresh is answered, what is stale is validated. The default. */
  NJ_CACHE_RELOAD = 1,        /* the server answers, and what it answers is stored */
  NJ_CACHE_REVALIDATE = 2,    /* what is stored is answered once the server has said that it still holds */
  NJ_CACHE_ELSE_LOAD = 3,     /* what is stored is answered whatever its age; otherwise the server is asked */
  NJ_CACHE_ONLY = 4,          /* the same, and otherwise the call fails with NJ_CACHE_MISS */
  NJ_CACHE_OFFLINE_FIRST = 5, /* what is stored is answered at once, and fetched anew meanwhile unless it is fresh */
  NJ_CACHE_OFF = 6            /* of a request: nothing is looked up, and nothing stored */
} nj_cache_policy;

/** A cache in memory, of so many bytes with all that belongs to the responses. A response larger than 1 MiB, or than an eighth
 * of `memory_bytes`, is not stored in memory. */
NJ_API nj_cache *nj_cache_new(size_t memory_bytes);

/**
 * The same with a disk, for what is to outlive the process and for large answers. Processes may share the folder at the same
 * time. It is made, for its owner's eyes alone, when it is first used; nothing here waits for it. A folder that a newer version
 * has written is left alone. A response larger than an eighth of `disk_bytes` is not stored on disk.
 *
 * @param folder     NULL: `nightjar` in the user's folder for caches (XDG_CACHE_HOME, else ~/.cache)
 * @param disk_bytes of content that may be there, above 0
 * @return NULL: NJ_INVALID_ARGUMENT, also when `folder` is NULL and the environment names no home
 */
NJ_API nj_cache *nj_cache_open(size_t memory_bytes, const char *folder, size_t disk_bytes, nj_error **out_error);

/** Clients that were made with it keep it alive. */
NJ_API void nj_cache_free(nj_cache *cache);

/** Clients made from `config` keep answers here; NULL: they keep none, which is the default. nj_client_new fails with NJ_FORKED
 * for the cache of a forked process's parent. */
NJ_API nj_status nj_config_set_cache(nj_config *config, nj_cache *cache);

/**
 * How the calls of a client use its cache, and one request in place of that. Of no effect without a cache.
 *
 * @return NJ_INVALID_ARGUMENT for a policy that is none; NJ_CACHE_OFF is none of a configuration
 */
NJ_API nj_status nj_config_set_cache_policy(nj_config *config, nj_cache_policy policy);
NJ_API nj_status nj_request_set_cache_policy(nj_request *request, nj_cache_policy policy);

/**
 * Sets the cookies that identify a login. The cache stores the responses to requests with different login cookies apart, so
 * that a login never gets what another was given. The other cookies do not matter, unless the server names Cookie in Vary.
 *
 * By default all cookies identify a login, except those that are known to come from load balancers, bot filters and analytics
 * (AWSALB, ARRAffinity, __cf_bm, _ga and others). A cookie that changes while the login stays, for example with each response,
 * keeps its login if the response that replaces it is itself reusable (max-age or Expires in the future), because such a
 * response sets its cookies only once. Any other new value is another login. This is remembered until the cache is freed.
 *
 * Clients that share a cache should use the same names: what a client stores without a login cookie is found by all clients
 * that send none.
 *
 * @param names  cookie names, compared case-sensitively, and NULL after the last one; copied. "*": all cookies, each by its
 *               value. No name: no cookie identifies a login, for a cache that a single user has. NULL: the default.
 * @return NJ_INVALID_ARGUMENT if a name is not UTF-8
 */
NJ_API nj_status nj_config_set_login_cookies(nj_config *config, const char *const *names);

/**
 * What came of fetching anew an answer of the cache that a call was given meanwhile. Exactly one of `response` and `error` is
 * non-NULL; both are borrowed until this function returns (nj_response_retain and nj_error_retain keep them).
 */
typedef void (*nj_refreshed_fn)(void *context, const nj_response *response, const nj_error *error);

/**
 * Runs inside nj_queue_poll of `queue` when an answer that a call of this request was given (NJ_CACHE_OFFLINE_FIRST, or a
 * stale-while-revalidate of the server's) has been fetched anew: exactly once for each response of which
 * nj_response_is_being_refreshed is true, and not for any other. Where another call fetches the same already, this one does
 * not, and hears of nothing. An unexpected status is an error here too; by then the new answer is stored, if it may be.
 *
 * After `done` of nj_client_start where that has the same queue. Otherwise the thread that polls `queue` may be there before
 * nj_client_send returns or `done` runs. The call's total timeout counts anew for it; without one it has five minutes.
 * nj_task_cancel does not end it; freeing the client or `queue` does, with NJ_CANCELLED.
 *
 * @param queue     retained by the request and by its calls; NULL only with a NULL `refreshed`
 * @param refreshed NULL: nobody hears, and stale answers are fetched anew all the same
 * @param context   passed to `refreshed`, never read; must live until the calls of this request have ended, and `refreshed`
 *                  has run for each such response
 */
NJ_API nj_status nj_request_on_refresh(nj_request *request, nj_queue *queue, nj_refreshed_fn refreshed, void *context);

/** The cache of a client, yours to free; NULL: it has none. */
NJ_API nj_cache *nj_client_cache(nj_client *client);

/**
 * The stored answer that `request` would get, whatever its age and status, without asking a server. Waits for the disk at most,
 * and for a login's token that is being renewed. The callbacks of the request do not run; the client's hooks do, inside this call.
 *
 * @return the response, yours to release; NULL without an error when nothing is stored. NULL with NJ_INVALID_REQUEST for a
 *         client without a cache, another method than GET and HEAD, and a body; with the error of its status where the
 *         request says what it expects
 */
NJ_API nj_response *nj_client_cached(nj_client *client, const nj_request *request, nj_error **out_error);

/**
 * Stores an answer as if a server had just sent it for `request`, a GET: its headers say how long it is good for. Where they do
 * not, one below 400 is for the policies that take an answer of any age.
 *
 * @param headers name, value, name, value, and NULL behind the last; NULL: there are none
 * @param body    copied; may be NULL when `length` is 0
 * @return NJ_INVALID_ARGUMENT when the rules do not allow to keep it (RFC 9111 section 3; the error says why), or its status is
 *         not from 100 to 999; NJ_INVALID_REQUEST for a client without a cache and for what cannot stand in a header;
 *         NJ_TOO_LARGE if the cache cannot store a body of this size, or has no room on disk
 */
NJ_API nj_status nj_client_insert(nj_client *client, const nj_request *request, int status, const char *const *headers,
                                  const void *body, size_t length, nj_error **out_error);

/**
 * Removes the stored responses of one absolute URL (nj_cache_remove), those whose URL begins with `prefix` byte by byte, such as
 * "https://api.example/v1/" (nj_cache_remove_prefix), or all (nj_cache_clear): whoever requested them, in memory and on disk.
 * On disk, secrets in queries are masked, and only what precedes them is compared. A response whose request was sent before
 * the removal is not stored after it. Other processes and other caches of the same folder return none of them from one second
 * later at the latest.
 *
 * Waits up to 5 seconds for another process that holds the index on disk.
 *
 * @param out_count may be NULL; the number of removed responses, 0 on failure
 * @param out_error may be NULL; on failure, an error that the caller owns (nj_error_free)
 * @return NJ_OK; NJ_STORAGE if the responses could not be removed from the disk: they are gone from memory, and the removal is
 *         tried again as long as the cache exists; NJ_INVALID_URL or NJ_INVALID_ARGUMENT for an invalid `url`, an empty
 *         `prefix` and NULL; NJ_FORKED for the cache of a forked process's parent
 */
NJ_API nj_status nj_cache_remove(nj_cache *cache, const char *url, size_t *out_count, nj_error **out_error);
NJ_API nj_status nj_cache_remove_prefix(nj_cache *cache, const char *prefix, size_t *out_count, nj_error **out_error);
NJ_API nj_status nj_cache_clear(nj_cache *cache, size_t *out_count, nj_error **out_error);

/**
 * Waits until all responses, invalidations and removals are on disk. nj_client_free does the same and reports a failure to the
 * client's log.
 *
 * @return NJ_OK, also for a cache without a disk, and if the disk did not take a response (the log reports that); NJ_STORAGE if
 *         an invalidation or a removal could not be written, because the disk fails or another process has held the index for 5
 *         seconds: other processes may return responses that are no longer valid; NJ_INVALID_ARGUMENT for NULL; NJ_FORKED
 */
NJ_API nj_status nj_cache_flush(nj_cache *cache);

/** Since the cache was made, or as it is now. Members may be added. */
typedef enum nj_cache_statistic {
  NJ_CACHE_STATISTIC_HITS = 0,           /* calls that were answered without asking a server */
  NJ_CACHE_STATISTIC_STALE = 1,          /* those of them that were answered with what was stale */
  NJ_CACHE_STATISTIC_MISSES = 2,         /* calls that a server had to answer */
  NJ_CACHE_STATISTIC_VALIDATIONS = 3,    /* calls whose stored answer a server said to hold still */
  NJ_CACHE_STATISTIC_BYTES_SAVED = 4,    /* of content that came from here and from no server */
  NJ_CACHE_STATISTIC_MEMORY_ENTRIES = 5, /* answers in memory now */
  NJ_CACHE_STATISTIC_MEMORY_BYTES = 6,   /* with all that belongs to them */
  NJ_CACHE_STATISTIC_DISK_ENTRIES = 7,   /* answers on disk now, of all processes; waits for the disk */
  NJ_CACHE_STATISTIC_DISK_BYTES = 8      /* of their content; waits for the disk */
} nj_cache_statistic;

/** One number of many; -1 for a statistic that is none. */
NJ_API int64_t nj_cache_statistics(const nj_cache *cache, nj_cache_statistic statistic);

/* ------------------------------------------------------------------------------------------------------- auth --- */

/* A client has one way to show who it is, or several by the names of security schemes; each of these functions takes the place of
 * what was set before. Credentials go to the base URL's origin and to no other, redirects included, so nj_client_new refuses them without a base URL, and beside
 * others in its headers or its URL (NJ_INVALID_ARGUMENT). A request that has an Authorization header of its own keeps it.
 * No secret is in an error, a log line or an explanation. */

/** Authorization: Bearer (RFC 6750), as it is. nj_client_new refuses a token that cannot stand in a header. */
NJ_API nj_status nj_config_set_bearer(nj_config *config, const char *token);

/** Basic (RFC 7617), sent unasked. nj_client_new refuses a user name with a colon. */
NJ_API nj_status nj_config_set_basic_auth(nj_config *config, const char *user, const char *password);

/** Digest (RFC 7616; SHA-256, SHA-512/256 and MD5, as the server asks): answers its challenges. Where the server gives a proof
 * of its own (rspauth of Authentication-Info, with qop=auth) and it is wrong, whoever answers does not know the password: the
 * call fails with NJ_PROTOCOL. */
NJ_API nj_status nj_config_set_digest_auth(nj_config *config, const char *user, const char *password);

/**
 * A key in a header, in the query or in a cookie of each request, masked wherever a URL or a header is shown.
 *
 * @return NJ_INVALID_ARGUMENT also for an empty key, and for what the header cannot hold
 */
NJ_API nj_status nj_config_set_api_key_header(nj_config *config, const char *name, const char *key);
NJ_API nj_status nj_config_set_api_key_query(nj_config *config, const char *name, const char *key);
/** In a cookie, beside those that the client keeps, of which one of that name gives way. A request with a Cookie header of
 * its own goes without. */
NJ_API nj_status nj_config_set_api_key_cookie(nj_config *config, const char *name, const char *key);

/**
 * What the option `auth` of nj_config_merge_json takes: false for no credentials, or an object with a type: bearer (token),
 * basic and digest (user, password), api_key (key; header, query or cookie; prefix), and the two whose token runs out:
 *
 *     {"type": "oauth2", "token_url": "/oauth/token", "client_id": "app", "client_secret": "...",
 *      "grant": "client_credentials", "store": "file:/home/me/.config/app/login"}
 *     {"type": "login", "url": "/auth/login", "json": {"email": "...", "password": "..."}, "access": "/access_token",
 *      "renewal": "/refresh_token", "lifetime": "/expires_in", "refresh": {"url": "/auth/refresh"}}
 *
 * oauth2 (RFC 6749): token_url, client_id, client_secret, client_auth (basic, post), grant (refresh_token, client_credentials,
 * device_code with device_url, authorization_code with authorize_url), scope, issuer (RFC 9207). login, a call of the API's
 * own: url, method, json or form; where its answer has what, by JSON Pointers (RFC 6901): access, renewal, lifetime in seconds
 * or expiry as a moment, token_type; refresh: url, method, json or form, and token, where the refresh token is put. Without
 * refresh it logs in anew.
 *
 * The token is renewed shortly before it runs out, and when a server refuses it: once for all calls of the client, which wait
 * for that, and once for all clients and processes with the same store: "memory", "file:PATH", "sqlite:PATH",
 * "keyring:SERVICE", or an object of file, sqlite or keyring, account, and key_file or key_env, which encrypts (AES-GCM) for
 * this path and account: a copy elsewhere is refused. A client never saves an older login over a newer one: it adopts a login
 * that another client has made since, and fails with NJ_UNAUTHORIZED when another client has logged out. A new
 * token is in its store before it is used. A call that was refused (401) is sent once more; the second refusal is
 * NJ_UNAUTHORIZED. Both types take access_token, refresh_token and expires_in to begin with where the store has nothing, and
 * skew, refresh_timeout (30 seconds each; a refresh_timeout of 0 is no limit) and refresh_limit (5 in 30 seconds). Servers report
 * a lifetime of 0 seconds for tokens that never expire and for tokens in their last second. Such a token is used until a server
 * rejects it, and the client logs a warning.
 *
 * Several credentials have the names of security schemes:
 *
 *     {"schemes": {"apiKey": {"type": "api_key", "header": "X-Key", "key": "..."}, "oauth": {"type": "oauth2", ...}}}
 *
 * Each request from an endpoint is then sent with those of the first of its ways in (`security`) for which there are all, and
 * refused before it is sent, with NJ_INVALID_REQUEST, where there is none such; `{"auth": "apiKey"}` of nj_request_merge_json
 * names others, and what names none goes without. Each login has a token, a store and a refresh of its own.
 *
 * With a catalog whose document says how to log in (nj_config_set_catalog, before) no type is needed, and oauth2 asks for the
 * scopes that all endpoints of its scheme name together, as `scopes` of nj_catalog_json shows, unless `scope` says which. A
 * refresh names none, which stands for those that were granted (RFC 6749 section 6).
 *
 * @param length of `json` in bytes, which need not end in NUL
 * @return NJ_INVALID_ARGUMENT for an unknown key or a wrong value, NJ_DECODING when it is not JSON, NJ_STORAGE when a key_file
 *         of a store cannot be read. Then nothing has changed.
 */
NJ_API nj_status nj_config_set_auth_json(nj_config *config, const char *json, size_t length, nj_error **out_error);

/**
 * Asks for a token when a call needs one and there is none, or it has run out, or the server has refused it: once for all
 * calls of the client, which wait. Runs inside nj_queue_poll of a call that waits, or inside its blocking call, whichever comes
 * first: a queue that nobody polls, or that is freed, holds up no others. It answers
 * now, or keeps the question (nj_token_question_retain) and answers later, from any thread: a question whose last owner
 * leaves without an answer fails. A call of the same client that needs a token would wait for itself here: send what fetches the
 * token with nj_request_set_use_auth(request, false). Without an answer the calls fail with NJ_TIMEOUT after 30 seconds.
 *
 * @param question borrowed until the callback returns
 */
typedef void (*nj_token_fn)(void *context, nj_token_question *question);

/** @param context passed to `provide`, never read; must live until the clients are freed. A NULL `provide`: no credentials. */
NJ_API nj_status nj_config_set_token_provider(nj_config *config, const char *scheme, nj_token_fn provide, void *context);


/** Whether the server has refused the last token, rather than its time being over. */
NJ_API bool nj_token_question_was_refused(const nj_token_question *question);

/**
 * Gives the token to the calls that wait.
 *
 * @param expires_in_seconds how long it serves, from now; NJ_NO_LIMIT where that is not known: a 401 will tell
 * @return NJ_INVALID_ARGUMENT for a token that cannot stand in a header, a number that is none (the question stays open), and
 *         for a question that has its answer; NJ_FORKED
 */
NJ_API nj_status nj_token_question_answer(nj_token_question *question, const char *access_token,
                                          double expires_in_seconds);

/**
 * There is no token: the calls that wait fail with NJ_UNAUTHORIZED.
 *
 * @param ends_login true: somebody has to log in (nj_config_set_on_login_required), and until nj_client_sign_in all calls
 *                   fail so; false: the next call asks again
 * @param message    for the developer, in the errors of the calls or, when the login ends, in the log; NULL for none
 * @return as nj_token_question_answer
 */
NJ_API nj_status nj_token_question_fail(nj_token_question *question, bool ends_login, const char *message);

/** One more owner of the same question; NULL for NULL. */
NJ_API nj_token_question *nj_token_question_retain(nj_token_question *question);
NJ_API void nj_token_question_release(nj_token_question *question);

/**
 * Runs when the login has ended and somebody has to log in: once each time it ends, inside nj_queue_poll of a call that
 * waited for the token, or inside its blocking call. It may start calls and log in.
 */
typedef void (*nj_login_required_fn)(void *context);

/** For whatever logins the clients made from `config` have; NULL: nobody is told. `context` as for a token provider. */
NJ_API nj_status nj_config_set_on_login_required(nj_config *config, nj_login_required_fn required, void *context);

/** False: the request is sent without the client's credentials, those in its headers and URL among them. */
NJ_API nj_status nj_request_set_use_auth(nj_request *request, bool use);

/**
 * Begins to use a token that a login has brought, in place of the one there is, and keeps it in the store.
 *
 * @param json   {"access_token": "...", "refresh_token": "...", "expires_in": 3600}, of which the first alone must be there;
 *               token_type and scope may be (RFC 6749 section 5.1)
 * @param length of `json` in bytes, which need not end in NUL
 * @return NJ_INVALID_REQUEST for a client that has no login; NJ_INVALID_ARGUMENT, NJ_DECODING as nj_config_merge_json;
 *         NJ_FORKED
 */
NJ_API nj_status nj_client_sign_in(nj_client *client, const char *scheme, const char *json, size_t length, nj_error **out_error);

/**
 * Forgets the token, in the store too: calls fail with NJ_UNAUTHORIZED from now on, in every client of the store and after a
 * restart, until nj_client_sign_in or nj_client_log_in; access_token and refresh_token of the configuration and the client's
 * own credentials are not used before that. What the cache has of answers to this login goes, in memory and on disk; what was
 * answered to nobody in particular stays. The server is not told.
 *
 * Waits until the store and the cache on disk have been changed. The client is logged out even if this fails. nj_client_free
 * also waits for the store.
 *
 * @return NJ_STORAGE if the store or the cache could not be changed: another client may still use the login; NJ_INVALID_REQUEST
 *         if the client has no login; NJ_FORKED
 */
NJ_API nj_status nj_client_sign_out(nj_client *client, const char *scheme, nj_error **out_error);

/** Shows a person what to do, to let the program in. */
typedef void (*nj_login_prompt_fn)(void *context, const nj_login_prompt *prompt);

/** The page to open; without a code, in a browser of this machine. Borrowed until the callback returns, as the next two. */
NJ_API const char *nj_login_prompt_url(const nj_login_prompt *prompt);

/** The code to enter there, on whatever device; NULL: there is none. */
NJ_API const char *nj_login_prompt_user_code(const nj_login_prompt *prompt);

/** The page with the code entered already, for a link or a QR code; NULL: there is none. */
NJ_API const char *nj_login_prompt_complete_url(const nj_login_prompt *prompt);

/**
 * Logs in and waits for the end on this thread, where `prompt` runs. With the grant device_code a person enters a code on
 * another device (RFC 8628); with authorization_code one lets the program in with the browser, which is led back to a socket
 * of this machine (RFC 8252, with PKCE, RFC 7636). Any other login does what a call would wait for, and asks nobody. The
 * token is in its store when this returns.
 *
 * @param seconds how long it may take, 0 to 100 years; the server's own limit for a code may be shorter
 * @param context passed to `prompt`, never read
 * @return NJ_INVALID_REQUEST for a client that has no login, or whose tokens a callback provides; NJ_UNAUTHORIZED when the
 *         server or the person has refused; NJ_TIMEOUT
 */
NJ_API nj_status nj_client_log_in(nj_client *client, const char *scheme, double seconds, nj_login_prompt_fn prompt, void *context,
                                  nj_error **out_error);

/** Called once for each login that was started. `error` is NULL when the client is logged in, and borrowed otherwise. */
typedef void (*nj_login_done_fn)(void *context, const nj_error *error);

/**
 * The same without waiting: `prompt` and `done` run inside nj_queue_poll of `queue`.
 *
 * @param context passed to both, never read; must live until `done` has run
 * @return the login, yours to release; nj_task_cancel ends it. NULL: an argument was wrong, the client has no login, or is of
 *         a forked process's parent.
 */
NJ_API nj_task *nj_client_start_log_in(nj_client *client, const char *scheme, double seconds, nj_queue *queue, nj_login_prompt_fn prompt,
                                       nj_login_done_fn done, void *context, nj_error **out_error);

/**
 * Logs out as nj_client_sign_out_of does, without waiting. The client is logged out when this function returns. `done` is called
 * from nj_queue_poll of `queue` when the store and the cache on disk have been changed, or with NJ_STORAGE if this failed.
 *
 * @param scheme  the security scheme of the login; NULL: the only login
 * @param context passed to `done` unchanged and never read; must stay valid until `done` has returned
 * @return a task owned by the caller (release it with nj_task_release), or NULL as nj_client_start_log_in. nj_task_cancel ends
 *         the wait and does not undo the logout.
 */
NJ_API nj_task *nj_client_start_sign_out(nj_client *client, const char *scheme, nj_queue *queue, nj_login_done_fn done,
                                         void *context, nj_error **out_error);

/* ------------------------------------------------------------------------------------------------------ retry --- */

/* What fails for a while is tried again: 408, 425, 429, 500, 502, 503 and 504, and connections that fail. Only where that
 * cannot do twice what was asked for once: the server has not seen the request, its method is idempotent (RFC 9110 section
 * 9.2.2), or it carries an idempotency key. Never sooner than the server asks (Retry-After, section 10.2.3). The total
 * timeout bounds all attempts and waits together, and a tenth of the client's calls is what it repeats at most when many
 * fail. */

/**
 * Attempts of one call, the first among them; 3 by default, 1 repeats nothing.
 *
 * @return NJ_INVALID_ARGUMENT for a number that is not from 1 to 100
 */
NJ_API nj_status nj_config_set_retry_attempts(nj_config *config, int count);

/**
 * The wait before an attempt is chosen between nothing and `base` seconds, before each later one from a range twice as long,
 * and never beyond `cap`, so that those who failed together do not come back together. 0.5 and 30 by default.
 *
 * @return NJ_INVALID_ARGUMENT for what is not from 0 to 100 years
 */
NJ_API nj_status nj_config_set_retry_backoff(nj_config *config, double base, double cap);

/** Seconds that a server may ask to wait; where it asks for more, the call fails at once and nj_error_retry_after says how
 * long. 60 by default. */
NJ_API nj_status nj_config_set_retry_max_wait(nj_config *config, double seconds);

/**
 * Sets whether the Retry-After of a response (RFC 9110 section 10.2.3) is respected; true by default. If it is:
 *
 *   - a retry and a redirect wait at least as long as it asks;
 *   - a 429 that asks for up to nj_config_set_retry_max_wait holds back all calls to the origin;
 *   - a 429 that asks for more, and a 503, hold back the calls for the same URL, until one of them succeeds.
 *
 * A call that is held back for longer than nj_config_set_retry_max_wait, or beyond its deadline, fails at once with
 * NJ_RATE_LIMITED. Invalid values, and more than 30 days, are ignored. False: the field is only reported
 * (nj_error_retry_after), and a request neither waits for such a pause nor starts one. The second function is for one request,
 * in place of the client's setting.
 */
NJ_API nj_status nj_config_set_respect_retry_after(nj_config *config, bool respect);
NJ_API nj_status nj_request_set_respect_retry_after(nj_request *request, bool respect);

/** For this request, with the default backoff and longest wait, in place of all of the client's settings. 1 to 100. */
NJ_API nj_status nj_request_set_retry_attempts(nj_request *request, int count);

/** What becomes of an attempt that has failed. */
typedef enum nj_retry {
  NJ_RETRY_AS_DECIDED = 0, /* what the client would do */
  NJ_RETRY_AGAIN = 1,      /* another attempt, whatever the settings say; the server may then do twice what it was asked once */
  NJ_RETRY_STOP = 2,       /* the failure is the call's */
  NJ_RETRY_LATER = 3       /* nj_task_retry will say it */
} nj_retry;

/**
 * Asked about each attempt that brought no answer, or one of the statuses above and not an expected one, inside nj_queue_poll or
 * nj_client_send; the call waits for it, no longer than its total timeout. Not asked when part of the answer is with you
 * already: that is never repeated, and neither is a streamed body that cannot begin anew.
 */
typedef nj_retry (*nj_retry_fn)(void *context, nj_task *task, nj_retry_question *question);

/** @param context passed to `retry`, never read; must live as long as calls of this request run. A NULL `retry`: the settings
 * decide. */
NJ_API nj_status nj_request_on_retry(nj_request *request, nj_retry_fn retry, void *context);

/** What the attempt failed with, as the call would; borrowed until the callback returns (nj_error_retain keeps it). */
NJ_API const nj_error *nj_retry_question_error(const nj_retry_question *question);

/** 1 for the first. */
NJ_API int nj_retry_question_attempt(const nj_retry_question *question);

/** Seconds after which the client would try again; negative where it would not, and the sentence that says why not. */
NJ_API double nj_retry_question_after(const nj_retry_question *question);
NJ_API const char *nj_retry_question_reason(const nj_retry_question *question);

/**
 * How long NJ_RETRY_AGAIN waits; without it, as long as the client would, or not at all where it would not try again.
 *
 * @return NJ_INVALID_ARGUMENT for what is not from 0 to 100 years
 */
NJ_API nj_status nj_retry_question_set_after(nj_retry_question *question, double seconds);

/**
 * Answers what NJ_RETRY_LATER has put off, from any thread: once for each time. For a call that has ended nothing happens.
 *
 * @param seconds for NJ_RETRY_AGAIN: how long it waits
 * @return NJ_INVALID_ARGUMENT for NJ_RETRY_LATER, an answer that is none, and seconds that are not from 0 to 100 years
 */
NJ_API nj_status nj_task_retry(nj_task *task, nj_retry answer, double seconds);

/**
 * The Idempotency-Key field (draft-ietf-httpapi-idempotency-key-header), the same on every attempt, so that a write may be
 * repeated where no answer came. NULL: a new key for each call; nj_response_idempotency_key and nj_error_idempotency_key tell
 * which. The server must know such keys.
 *
 * @param key 1 to 255 printable ASCII characters without spaces, otherwise NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_idempotency_key(nj_request *request, const char *key);

/** Bytes of a key that nj_idempotency_key_new makes, NUL among them. */
#define NJ_IDEMPOTENCY_KEY_SIZE 37

/**
 * Writes a new random key (a UUID, RFC 9562 section 5.4) and NUL to `buffer`. For programs that keep it before they send, and
 * finish the call after a crash.
 *
 * @param capacity of `buffer` in bytes
 * @return NJ_INVALID_ARGUMENT for one below NJ_IDEMPOTENCY_KEY_SIZE
 */
NJ_API nj_status nj_idempotency_key_new(char *buffer, size_t capacity);

/* ----------------------------------------------------------------------------------------------------- limits --- */

/* What a client spares each origin. Calls that must wait do so in order of their arrival, and their total timeout runs: one
 * that it would not let begin fails at once with NJ_RATE_LIMITED. A group with limits of its own, whatever the origins of its
 * calls, is declared by JSON alone: nj_config_merge_json with
 * {"limit_groups": {"search": {"rate_limit": {"requests": 10, "per": 1}, "concurrency": 4}}}. */

/**
 * How many requests may begin in how many seconds, evenly; what servers tell of their own limits (RateLimit, RateLimit-Policy,
 * X-RateLimit-*: draft-ietf-httpapi-ratelimit-headers) slows down further, before they refuse. For Retry-After see
 * nj_config_set_respect_retry_after.
 *
 * @param requests    1 to 1000000000; 0: only what servers tell, the other two numbers are then not read
 * @param per_seconds above 0, to 100 years
 * @param burst       requests that may begin at once after a pause, 1 to 1000000000; 0: as many as `requests`
 */
NJ_API nj_status nj_config_set_rate_limit(nj_config *config, size_t requests, double per_seconds, size_t burst);

/** Requests that may be under way at once, 1 to 1000000; 0: as many as there are connections for, which is the default. */
NJ_API nj_status nj_config_set_concurrency(nj_config *config, size_t count);

/**
 * Leaves a server alone that does not work: when `failure_rate` of the calls in the last `window` seconds failed (no answer, or
 * 5xx), calls fail at once with NJ_SERVER for `rest` seconds; then one goes as a probe, and its end decides.
 *
 * @param failure_rate  above 0, to 1; 0: none, which is the default, and the other numbers are not read
 * @param minimum_calls fewer in the window prove nothing; 1 to 1000000
 * @param window        seconds, above 0, to 100 years
 * @param rest          seconds, 0 to 100 years
 */
NJ_API nj_status nj_config_set_circuit_breaker(nj_config *config, double failure_rate, size_t minimum_calls,
                                               double window, double rest);

/** Calls of one origin or group that may wait for its limits, 0 to 10000000; one more fails at once with NJ_RATE_LIMITED.
 * 1000 by default. */
NJ_API nj_status nj_config_set_max_waiting(nj_config *config, size_t count);

/**
 * The group whose limits hold for this request in place of its origin's; NULL: its origin's. A client that has no such group
 * refuses it with NJ_INVALID_REQUEST.
 */
NJ_API nj_status nj_request_set_limit_group(nj_request *request, const char *group);

/**
 * Whether safe calls without a body that are alike (URL, headers, credentials) share one exchange while it lasts, and the
 * memory of its answer. Each has its own timeout and cancel; the last that leaves ends the exchange. Not a cache: what has been
 * answered is forgotten. Requests with callbacks for head, body, redirects, retries or refreshes never share. An exchange takes
 * no more requests after one of its requests has timed out, and after a request of the client with an unsafe method (such as
 * PUT) to its origin has ended: a GET after a completed PUT never gets a response from before it. False by default; the second
 * is in place of the client's setting.
 */
NJ_API nj_status nj_config_set_coalesce(nj_config *config, bool coalesce);
NJ_API nj_status nj_request_set_coalesce(nj_request *request, bool coalesce);

/**
 * How the origins and groups stand that have a limit now, or were asked by their server to be left alone:
 *
 *     [{"name": "https://api.example.com", "inside": 3, "waiting": 0, "circuit": "closed"}]
 *
 * `circuit` is closed, open or half_open; `pause`, where the server has asked for one (Retry-After), its remaining seconds. A
 * pause of one resource is an entry of its own, with the URL as its name.
 *
 * @param out_length may be NULL
 * @return text with NUL behind it, yours to free with nj_text_free; "[]" also for the handle of a forked process's parent;
 *         NULL for NULL
 */
NJ_API char *nj_client_limits_json(nj_client *client, size_t *out_length);

/** Frees a text that a function has said is yours. */
NJ_API void nj_text_free(char *text);

/* ----------------------------------------------------------------------------------------------------- client --- */

/**
 * Makes a client, with a thread of its own for its event loop.
 *
 * @param config copied; NULL for the defaults
 * @return NULL when the configuration cannot work (NJ_INVALID_URL, NJ_TLS, NJ_STORAGE, ...) or there is no thread or
 *         descriptor left
 */
NJ_API nj_client *nj_client_new(const nj_config *config, nj_error **out_error);

/**
 * Cancels what is in flight, hands its completions to their queues, closes the connections and returns when nothing of
 * the client runs any more, but for a look-up of an address that the system's resolver has not answered: that thread ends
 * with the answer and touches nothing of the client. May be called from a callback.
 */
NJ_API void nj_client_free(nj_client *client);

/**
 * Sends `request` and waits for the whole answer on this thread, which meanwhile runs the request's own callbacks.
 *
 * @return the response, yours to release; NULL for a failure, an unexpected status among them (nj_request_expect_status)
 */
NJ_API nj_response *nj_client_send(nj_client *client, const nj_request *request, nj_error **out_error);

/**
 * Called once for each started task, whatever happens to it: never zero times, never twice. Exactly one of `response`
 * and `error` is non-NULL; both are borrowed until this function returns (nj_response_retain and nj_error_retain keep
 * them). It may start, cancel and free anything. It must not unwind (no exception, no longjmp) through us.
 */
typedef void (*nj_done_fn)(void *context, nj_task *task, const nj_response *response, const nj_error *error);

/**
 * Starts `request` without waiting; `done` never runs inside this call. A thread that polls the queue may run it before
 * this returns.
 *
 * @param queue   where `done` and the other events of this task are delivered
 * @param context passed to `done`, never read; must live until `done` has run
 * @return the task, yours to release (which does not cancel), or NULL: an argument was wrong. What goes wrong on the
 *         network arrives in `done`, never here.
 */
NJ_API nj_task *nj_client_start(nj_client *client, const nj_request *request, nj_queue *queue, nj_done_fn done,
                                void *context, nj_error **out_error);

/* -------------------------------------------------------------------------------------------------------- mocks --- */

/* Tests without a network. All three stand where the network is, below everything else of the client: what they bring is
 * retried, followed, cached and logged in for as a server's answers are. */

/**
 * Answers in place of servers, for clients made from `config`: a JSON list of routes, the schema of Lua's nightjar.mock, or an
 * object {"routes": [...], "passthrough": true} whose other calls go to the network. The first route that fits a request
 * answers it; a call that none fits fails with NJ_INVALID_REQUEST, which names the nearest. A route has any of
 *
 *     name, method, path ("/articles/{id}", "/files/" and two stars for all below; relative to the base URL, or absolute),
 *     query, headers, form ({"name": "value" | ["several"] | true for any | false for none}), json (what the body's JSON must
 *     have), body (just that), times (how often it answers), optional (for nj_client_mock_verify), and
 *     answer, or answers in their order, and then used_up: "last" (the default), "first" or "error".
 *
 * An answer is a status or an object of
 *
 *     status, headers, json | body | base64 | file (a path, read at once), delay (seconds), rate (bytes a second), pieces
 *     (bytes of each), fault ("offline", "dns", "connect", "tls", "connect_timeout", "timeout", "hang", "connection_lost",
 *     "malformed"; {"kind": "connection_lost", "after": 100} breaks off behind so many bytes of the body).
 *
 * @param json NULL: the network answers, which is the default
 * @return NJ_DECODING when it is not JSON, NJ_INVALID_ARGUMENT for what the schema has not, NJ_STORAGE for a file that cannot
 *         be read; then nothing has changed
 */
NJ_API nj_status nj_config_set_mock(nj_config *config, const char *json, nj_error **out_error);

/** How often the route of this name, or else of this method and path ("GET /articles"), has answered; NULL: all of them. -1
 * where the client has no mock, or no such route. */
NJ_API int64_t nj_client_mock_uses(nj_client *client, const char *route);

/** NJ_INVALID_REQUEST where a route that is not optional was not asked, or not as often as its times, or a call had none. */
NJ_API nj_status nj_client_mock_verify(nj_client *client, nj_error **out_error);

/** Nothing was asked, and each sequence of answers begins anew. */
NJ_API void nj_client_mock_reset(nj_client *client);

typedef enum nj_cassette_mode {
  NJ_CASSETTE_AUTO = 0,   /* what the file has comes from it; what it has not, from the network, and is added */
  NJ_CASSETTE_RECORD = 1, /* all comes from the network and becomes the file */
  NJ_CASSETTE_REPLAY = 2, /* all comes from the file; what it has not fails with NJ_INVALID_REQUEST */
} nj_cassette_mode;

/**
 * Records each exchange with a server, redirects and refreshes of tokens among them, to a file of JSON, or replays it. Secrets
 * are replaced by names that tell nothing of them, the same for the same secret, which replayed calls may send. Each exchange
 * is replayed once, in the order of recording among those alike: of the same method, URL and body, but for their secrets.
 * `cassette` of nj_config_merge_json has more ways: {"file", "mode", "repeats": true (the last one again and again), "timing":
 * true (as slow as it was), "headers": [names to compare too], "ignore": {"query": [names], "json": [pointers], "body": true,
 * "origin": true}, "secrets": [further names], "secret_values": [texts]}.
 *
 * nj_client_new reads it: NJ_STORAGE where there is none to replay, NJ_DECODING for a damaged one. It is written within a
 * second or so, and by nj_client_free; the log tells where that fails. One client records to a file at a time.
 *
 * @param path NULL: none, which is the default
 */
NJ_API nj_status nj_config_set_cassette(nj_config *config, const char *path, nj_cassette_mode mode);

/**
 * Makes the network, or the mock, worse than it is: "3g", "edge", "lossy" or "offline". `network` of nj_config_merge_json
 * takes such a name or {"profile", "latency", "jitter" (seconds), "down", "up" (bytes a second), "loss" (the share of
 * exchanges that break off), "offline", "seed"}.
 *
 * @param name NULL: as it is, which is the default
 * @param seed of chance: the same seed, the same course
 * @return NJ_INVALID_ARGUMENT for another name
 */
NJ_API nj_status nj_config_set_network_profile(nj_config *config, const char *name, uint64_t seed);

/* ---------------------------------------------------------------------------------------------------- request --- */

/**
 * @param method a token, in its case: "GET"
 * @param target an absolute http or https URL, or a path to be joined to the base URL; checked when it is sent
 * @return NULL when `method` is not a token, or either is NULL or not UTF-8
 */
NJ_API nj_request *nj_request_new(const char *method, const char *target);
NJ_API void nj_request_free(nj_request *request);

/** Another request that is the same as this one now, callbacks and their contexts included. */
NJ_API nj_request *nj_request_copy(const nj_request *request);

/** Adds a pair to the query, in order, percent-encoded from plain text; a name may repeat. */
NJ_API nj_status nj_request_add_query(nj_request *request, const char *name, const char *value);

/**
 * The value of a variable of the target, which is then a URI template (RFC 6570 to level 3): "/users/{id}{?page}". The call
 * is refused with NJ_INVALID_REQUEST when a variable of the path has no value, or a value leaves a segment empty.
 */
NJ_API nj_status nj_request_set_parameter(nj_request *request, const char *name, const char *value);

/**
 * Sets a header in place of those of the same name, or adds one beside them.
 *
 * @return NJ_INVALID_REQUEST when name or value cannot stand in a header (CR and LF among others)
 */
NJ_API nj_status nj_request_set_header(nj_request *request, const char *name, const char *value);
NJ_API nj_status nj_request_add_header(nj_request *request, const char *name, const char *value);

/** The body, copied. `bytes` may be NULL when `length` is 0. */
NJ_API nj_status nj_request_set_body(nj_request *request, const void *bytes, size_t length);

/**
 * Sets the body to a copy of this JSON text, which is sent as it is. Its Content-Type is application/json unless the request or
 * the client sets one.
 */
NJ_API nj_status nj_request_set_body_json(nj_request *request, const char *json, size_t length);

/**
 * The body is the file's content, read while it is sent and never held in memory; with the Content-Type that its name tells,
 * unless the request or the client sets one. Sending fails with NJ_INVALID_REQUEST when there is no such file to read, or it
 * is a folder, a pipe or a device; and when it gets shorter while it is sent: the connection is then closed, so that the
 * server cannot take half a body for a whole one. What it grows by meanwhile is not sent.
 */
NJ_API nj_status nj_request_set_body_file(nj_request *request, const char *path);

/**
 * The body is this form as it is now, with Content-Type: multipart/form-data; NULL: it has none. Files are read as with
 * nj_request_set_body_file.
 *
 * @return NJ_INVALID_REQUEST for a part without a name, or with a control character in its name, file name or type
 */
NJ_API nj_status nj_request_set_body_form(nj_request *request, const nj_form *form, nj_error **out_error);

/**
 * Adds a field to a body that is application/x-www-form-urlencoded, in order, encoded from plain text; a name may repeat. The
 * first one takes the place of another body. The Content-Type is that of such a form unless the request or the client sets one.
 */
NJ_API nj_status nj_request_add_form_field(nj_request *request, const char *name, const char *value);

/**
 * True: the body is sent with Content-Encoding: gzip. One in memory only if that makes it smaller; files, forms and streams as
 * they go, so that their length is not announced. The server must be known to understand it: none can be asked before.
 */
NJ_API nj_status nj_request_set_compress(nj_request *request, bool compress);

/**
 * Whether the server is asked before the body is sent (Expect: 100-continue). If it does not answer within a second, the
 * body is sent all the same. Without this call: for bodies of 1 MiB or more, or of unknown length.
 */
NJ_API nj_status nj_request_set_expect_continue(nj_request *request, bool expect);

/** True: a GET or a HEAD may have a body, which is otherwise NJ_INVALID_REQUEST, as servers and caches may drop it. */
NJ_API nj_status nj_request_set_allow_body_on_get(nj_request *request, bool allow);

/**
 * Asked for the next part of a streamed body, inside nj_queue_poll or nj_client_send.
 *
 * @return bytes written to `buffer`; 0 at the end; NJ_READ_FAILED when the source is broken: the call then fails and
 *         the connection is closed, so that the server cannot take half a body for a whole one
 */
typedef int64_t (*nj_read_fn)(void *context, nj_task *task, void *buffer, size_t capacity);
#define NJ_READ_FAILED ((int64_t)-1)

/**
 * A body that is read while it is sent, and so is never sent twice, unless nj_request_set_body_rewind says that it can be.
 *
 * @param length  of the body in bytes; -1 when it is not known (it is then sent in chunks)
 * @param context passed to `read`, never read; must live as long as calls of this request run
 */
NJ_API nj_status nj_request_set_body_stream(nj_request *request, int64_t length, nj_read_fn read, void *context);

/**
 * The streamed body can begin anew: `rewind` is called, where `read` is, before `read` is asked for the first part again, by a
 * retry, a redirect or a login. Its context is that of nj_request_set_body_stream, which comes first and forgets it. NULL: it
 * cannot.
 *
 * @return NJ_INVALID_ARGUMENT also for a request without a streamed body
 */
typedef void (*nj_rewind_fn)(void *context, nj_task *task);
NJ_API nj_status nj_request_set_body_rewind(nj_request *request, nj_rewind_fn rewind);

/**
 * The head of the answer, before its body: `head` has the status and the headers and an empty body, borrowed until the
 * callback returns. Not called for an answer that becomes an error.
 */
typedef void (*nj_head_fn)(void *context, nj_task *task, const nj_response *head);
NJ_API nj_status nj_request_on_head(nj_request *request, nj_head_fn head, void *context);

/**
 * The body in parts as it comes; the response's own body is then empty. Reading from the network pauses while more than
 * 256 KiB wait for this callback, so memory stays flat however slow it is. The body of an answer that becomes an error
 * goes to the error and not here. `bytes` is borrowed until the callback returns. NULL: the body is collected again.
 */
typedef void (*nj_body_fn)(void *context, nj_task *task, const void *bytes, size_t length);
NJ_API nj_status nj_request_on_body(nj_request *request, nj_body_fn body, void *context);

/** How far the bodies of a call's present attempt have come, in bytes; -1: not known. */
typedef struct nj_progress {
  int64_t sent;           /* of the request's content, what has left for the server */
  int64_t sent_total;     /* -1 before all is sent, where nobody knows its length */
  int64_t received;       /* of the answer's content, as it comes: still coded */
  int64_t received_total; /* as the answer announces it */
} nj_progress;

/**
 * Told of the progress, inside nj_queue_poll or nj_client_send: about ten times a second while it moves, and once more before the
 * end of a call that succeeds. What is not handled in time is passed over, so a slow host hears less often. `progress` is
 * borrowed until the callback returns. NULL: nobody is, which costs nothing.
 */
typedef void (*nj_progress_fn)(void *context, nj_task *task, const nj_progress *progress);
NJ_API nj_status nj_request_on_progress(nj_request *request, nj_progress_fn progress, void *context);

/**
 * Statuses from `lowest` to `highest` are an answer and not an error; may be called several times. Without it: 200 to 299
 * and 304.
 */
NJ_API nj_status nj_request_expect_status(nj_request *request, int lowest, int highest);

/** Sets limits for this request in place of the client's: see nj_config_set_connect_timeout, NJ_NO_LIMIT included, and
 * nj_config_set_max_body. */
NJ_API nj_status nj_request_set_connect_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_idle_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_total_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_max_body(nj_request *request, size_t bytes);

/**
 * Whether redirects are followed for this request, and how many; 0: a redirect is an answer like any other. In place of the
 * client's settings.
 *
 * @return NJ_INVALID_ARGUMENT for a number that is not from 0 to 100
 */
NJ_API nj_status nj_request_set_max_redirects(nj_request *request, int count);

/** What becomes of a redirect. */
typedef enum nj_redirect {
  NJ_REDIRECT_FOLLOW = 0,
  NJ_REDIRECT_STOP = 1,  /* the answer that redirects is the answer */
  NJ_REDIRECT_REFUSE = 2 /* the call fails with NJ_CANCELLED */
} nj_redirect;

/**
 * Asked before each redirect is followed, inside nj_queue_poll or nj_client_send; the call waits for it, no longer than its
 * total timeout. NULL: they are followed by the settings alone.
 */
typedef nj_redirect (*nj_redirect_fn)(void *context, nj_task *task, nj_hop *hop);
NJ_API nj_status nj_request_on_redirect(nj_request *request, nj_redirect_fn redirect, void *context);

/** The status of the answer that redirects, the URL that answered, where it leads and how that will be asked: the URLs with
 * their credentials. Borrowed until the callback returns. */
NJ_API int nj_hop_status(const nj_hop *hop);
NJ_API const char *nj_hop_from(const nj_hop *hop);
NJ_API const char *nj_hop_url(const nj_hop *hop);
NJ_API const char *nj_hop_method(const nj_hop *hop);

/**
 * Leads elsewhere: to an absolute URL, or to one relative to the URL that redirects. What credentials go along is decided by
 * it. A URL that cannot be followed fails the call with NJ_PROTOCOL.
 */
NJ_API nj_status nj_hop_set_url(nj_hop *hop, const char *url);

/** False: the answer comes as the server sends it, and the client's Accept-Encoding is not sent. */
NJ_API nj_status nj_request_set_decompress(nj_request *request, bool decompress);

/** False: none of the client's cookies are sent, and none are kept. A request with a Cookie header of its own is so too;
 * cookies that are parameters of its endpoint go beside them. */
NJ_API nj_status nj_request_set_use_cookies(nj_request *request, bool use);

/**
 * What the JSON of the answer must look like; where it does not, the call fails with NJ_DECODING, which names the path,
 * what was expected and what was found. Answers without a body pass; with nj_request_on_body the call is refused.
 *
 * @param json   a JSON Schema: type, required, properties, additionalProperties, items, enum, const, format (date-time,
 *               date, uuid, uri, email), nullable, minimum, maximum, minLength, maxLength, minItems, maxItems. NULL:
 *               none again
 * @param length of `json` in bytes
 * @return NJ_INVALID_ARGUMENT for a schema with other keywords or mistakes (the error names the place)
 */
NJ_API nj_status nj_request_set_schema(nj_request *request, const char *json, size_t length, nj_error **out_error);

/**
 * Sets what a JSON object names, as Lua's options of a call have it: headers, expect, schema, timeout, max_body, redirect,
 * decompress, cookies, compress, expect_continue, body_on_get, auth, retry, idempotency_key, cache, coalesce, limit_group.
 * What it does not name stays. `cache` is the name of a policy ("protocol", "reload", "revalidate", "cache_else_load",
 * "cache_only", "offline_first"), false for NJ_CACHE_OFF, or true for what the client does. See nj_config_merge_json.
 */
NJ_API nj_status nj_request_merge_json(nj_request *request, const char *json, size_t length, nj_error **out_error);

/* ------------------------------------------------------------------------------------------------------- form --- */

/** A form of parts, sent in their order as multipart/form-data (RFC 7578). Names may repeat, and be any UTF-8. */
NJ_API nj_form *nj_form_new(void);
NJ_API void nj_form_free(nj_form *form);

/** Adds a part that is plain text. */
NJ_API nj_status nj_form_add_text(nj_form *form, const char *name, const char *text);

/**
 * Adds a part of these bytes, copied.
 *
 * @param filename     what the server is told the file is called; NULL: the part is none
 * @param content_type NULL: what `filename` tells
 */
NJ_API nj_status nj_form_add_bytes(nj_form *form, const char *name, const char *filename, const char *content_type,
                                   const void *bytes, size_t length);

/**
 * Adds a part that is the content of a file, read while the form is sent.
 *
 * @param filename     what the server is told it is called; NULL: the last part of `path`
 * @param content_type NULL: what that name tells
 */
NJ_API nj_status nj_form_add_file(nj_form *form, const char *name, const char *path, const char *filename,
                                  const char *content_type);

/* -------------------------------------------------------------------------------------------------- endpoints --- */

/* An API described once: its endpoints by name, each with its path, parameters, bodies and answers. A request made of one
 * takes values by the names of its parameters. They are checked when it is sent, before anything leaves: what is missing,
 * unknown or of a wrong type is NJ_INVALID_REQUEST, and the message names endpoint, parameter and the nearest name there is.
 *
 * A catalog may be read by several threads while none adds to it. */

/** An empty catalog. */
NJ_API nj_catalog *nj_catalog_new(void);

/**
 * Reads an OpenAPI document (3.0 or 3.1, JSON or YAML) and the files in the document's folder and below that it refers to. Parts
 * that refer to other files are skipped, with a note. A client's option openapi_folder names another folder, for its option
 * openapi and for nj_client_load_catalog.
 *
 * @param path of a file; what lies behind a URL nj_client_load_catalog loads
 * @return NULL: NJ_STORAGE for a file that cannot be read, NJ_DECODING with the place for what is no such document
 */
NJ_API nj_catalog *nj_catalog_load_file(const char *path, nj_error **out_error);

/**
 * The same with the documents behind URLs, asked for as any call of the client is: with its cache, so that what has not
 * changed is not sent again, and with its credentials where they belong. Waits; callbacks of the client's config run on this
 * thread meanwhile.
 *
 * @param location the path of a file, an absolute URL, or `url:` and what is joined to the base URL: "url:/openapi.json"
 */
NJ_API nj_catalog *nj_client_load_catalog(nj_client *client, const char *location, nj_error **out_error);
NJ_API void nj_catalog_free(nj_catalog *catalog);

/**
 * Adds an endpoint that a JSON object describes, as Lua's option tables do:
 *
 *     {"path": "/articles/{id}", "method": "GET",
 *      "parameters": {"id": "integer", "page": {"type": "integer", "default": 1}, "X-Trace": {"in": "header"}},
 *      "body": {a JSON Schema}, "answer": {a JSON Schema}, "response_validation": "off" | "warn" | "error",
 *      "requires_auth": false, "security": ["apiKey", {"oauth": ["read"]}], "idempotent": true, "cache": "reload", "timeout": 5,
 *      "pagination": {"style": "cursor", "items": "/results", "next": "/next_cursor", "key": "/id"},
 *      "summary": "One article", "documentation": "...", "deprecated": true, "tags": ["articles"]}
 *
 * Only the path is needed. A parameter is the name of a type, or an object of words of JSON Schema and of `in` ("path",
 * "query", "header", "cookie"), `required`, `default`, `style` and `explode` (OpenAPI 3.1 section 4.8.12), `allow_reserved`,
 * `documentation`, `deprecated` and `example`. It is in the path where that has its name in braces, and else in the query.
 * `requires_auth`: true, it is not asked without credentials; false, it is asked without the client's. `security`: the ways
 * in by the names of schemes, of which one is enough, as OpenAPI has them.
 * A body that is described is needed; `{"schema": ..., "content_type": ..., "required": false}` says otherwise.
 *
 * @return NJ_INVALID_ARGUMENT for an unknown key (the error names the nearest known one), a wrong type, and a name that is
 *         there already; NJ_DECODING for what is no JSON
 */
NJ_API nj_status nj_catalog_add_json(nj_catalog *catalog, const char *name, const char *json, size_t length,
                                     nj_error **out_error);

/**
 * The endpoints of clients made from `config`, copied; NULL: none. The first server of the catalog is the base URL where none
 * is set. With a catalog whose document says how to log in, the `auth` of nj_config_merge_json needs no type:
 * {"auth": {"token": "..."}}, or {"auth": {"scheme": "ApiKeyAuth", "key": "..."}} where there are several ways, or
 * {"auth": {"schemes": {"ApiKeyAuth": {"key": "..."}, ...}}} for several of them.
 */
NJ_API nj_status nj_config_set_catalog(nj_config *config, nj_catalog *catalog);

/** A copy of the endpoints of a client, yours to free; NULL: it has none. */
NJ_API nj_catalog *nj_client_catalog(nj_client *client);

NJ_API size_t nj_catalog_count(const nj_catalog *catalog);
/** The name of the endpoint at `index`, in the order of the description; NULL: there are fewer. */
NJ_API const char *nj_catalog_name_at(const nj_catalog *catalog, size_t index);
/** An endpoint as a JSON object: name, method, path, summary, documentation, tags, deprecated, idempotent, parameters (each
 * with name, in, required, type, default, example, documentation), security (scopes by scheme, one way in after the other),
 * body (with an example, the document's or one that is made), answers, and unchecked: what of its schemas no value is checked
 * against. NULL: there is none of that name. */
NJ_API const char *nj_catalog_endpoint_json(const nj_catalog *catalog, const char *name);
/** All of it as a JSON object: title, version, documentation, servers, tags, security (names of schemes), scopes (what the
 * endpoints ask of OAuth 2.0, by scheme), endpoints (names), and notes: what of a document was passed over, and why. */
NJ_API const char *nj_catalog_json(const nj_catalog *catalog);

/**
 * A request for an endpoint, which takes values by nj_request_set_argument and a body by that or by the functions that any
 * request has; so for headers, query, timeouts. Its method, target and template values are the endpoint's.
 *
 * @return NULL: NJ_INVALID_REQUEST where there is no endpoint of that name; the error names the nearest
 */
NJ_API nj_request *nj_request_from_endpoint(const nj_catalog *catalog, const char *name, nj_error **out_error);

/**
 * The value of a parameter, in the place of the one before. Where names of several places are alike, "query.id" and "path.id"
 * tell them apart. A text becomes the number, boolean, array or object that the parameter asks for where it is written as one
 * in JSON; nothing else is converted.
 *
 * @param value NULL: none again
 * @return NJ_INVALID_ARGUMENT also for a request of no endpoint. Whether the name is known shows when it is sent.
 */
NJ_API nj_status nj_request_set_argument(nj_request *request, const char *name, const char *value);
NJ_API nj_status nj_request_set_argument_json(nj_request *request, const char *name, const char *json, size_t length,
                                              nj_error **out_error);

/** The body as a value, written as the endpoint takes it: as JSON, as a form or as its parts; checked against its schema. */
NJ_API nj_status nj_request_set_argument_body_json(nj_request *request, const char *json, size_t length,
                                                   nj_error **out_error);

/* --------------------------------------------------------------------------------------------------- response --- */

/** 100 to 999. */
NJ_API int nj_response_status(const nj_response *response);

/** The words behind the status, often empty; never for programs to read. */
NJ_API const char *nj_response_reason(const nj_response *response);

/** 10 for HTTP/1.0, 11 for HTTP/1.1. */
NJ_API int nj_response_http_version(const nj_response *response);

/**
 * The value of the first header of that name, compared without case; NULL when there is none. Values of headers and
 * trailers are the server's bytes: they hold no control characters but may be no UTF-8.
 */
NJ_API const char *nj_response_header(const nj_response *response, const char *name);

/** All headers in the order they came. NULL for an index that is not below the count. */
NJ_API size_t nj_response_header_count(const nj_response *response);
NJ_API const char *nj_response_header_name_at(const nj_response *response, size_t index);
NJ_API const char *nj_response_header_value_at(const nj_response *response, size_t index);

/** The value of the first trailer of that name: a field that came behind the body. */
NJ_API const char *nj_response_trailer(const nj_response *response, const char *name);

/**
 * The body, never NULL; there is a NUL behind its last byte.
 *
 * @param out_length may be NULL
 */
NJ_API const char *nj_response_body(const nj_response *response, size_t *out_length);

/**
 * The body as UTF-8, from the charset of its byte order mark or Content-Type (UTF-8, ISO-8859-1, windows-1252, UTF-16).
 * One that is not known is read as UTF-8; what is not in the charset is U+FFFD. Never NULL.
 *
 * @param out_length may be NULL
 */
NJ_API const char *nj_response_text(const nj_response *response, size_t *out_length);

/** The URL that answered, without user info and with credentials in the query masked. */
NJ_API const char *nj_response_url(const nj_response *response);
NJ_API nj_source nj_response_source(const nj_response *response);

/**
 * Whether this answer of the cache is fetched anew by its call, so that the function of nj_request_on_refresh runs: once. If
 * false, also without such a function, it does not run.
 */
NJ_API bool nj_response_is_being_refreshed(const nj_response *response);

/**
 * The redirects that led to this answer, first to last: the status of each, and the URL that answered with it. 0 and NULL for
 * an index that is not below the count.
 */
NJ_API size_t nj_response_redirect_count(const nj_response *response);
NJ_API int nj_response_redirect_status_at(const nj_response *response, size_t index);
NJ_API const char *nj_response_redirect_url_at(const nj_response *response, size_t index);

/** How many times the request was put on a connection, redirects and retries included; 0 for an answer of the cache that no
 * server was asked about, and for a look-up. */
NJ_API int nj_response_attempts(const nj_response *response);

/**
 * Why the call went as it did: each retry and its cause, or why there was none, how long it waited for which limit or for a new
 * token, whom it shared an exchange with, each redirect. Sentences, one a line, for people; one sentence says so when nothing
 * had to be decided. As JSON for programs: an array of objects with decision, attempt, at (seconds since the call began), text,
 * and what belongs to the decision. No secret is in them.
 *
 * @param out_length may be NULL
 */
NJ_API const char *nj_response_explain(const nj_response *response);
NJ_API const char *nj_response_explain_json(const nj_response *response, size_t *out_length);

/** The Idempotency-Key that was sent; NULL when there was none. */
NJ_API const char *nj_response_idempotency_key(const nj_response *response);

/**
 * The command line with which curl sends the same request, for a POSIX shell. Content that is no text, or more than 4 KiB of
 * it, is left for curl's standard input. Credentials appear as *** unless `show_secrets`. NULL for what no call has brought.
 */
NJ_API const char *nj_response_curl(const nj_response *response, bool show_secrets);

/** Seconds from the start of the call until it ended, was put on a connection, had its head; negative if it was not. */
NJ_API double nj_response_time_total(const nj_response *response);
NJ_API double nj_response_time_sent(const nj_response *response);
NJ_API double nj_response_time_first_byte(const nj_response *response);

/**
 * Seconds that it took to look the host's name up, to open the connection, and for the handshake of TLS, where the
 * connection was made for this call; negative for what did not occur.
 */
NJ_API double nj_response_time_dns(const nj_response *response);
NJ_API double nj_response_time_connect(const nj_response *response);
NJ_API double nj_response_time_tls(const nj_response *response);

/** The address and port that answered, "127.0.0.1:8080" or "[::1]:8080"; NULL where there is none. */
NJ_API const char *nj_response_peer_address(const nj_response *response);

/** Whether the connection had served another call before. */
NJ_API bool nj_response_reused_connection(const nj_response *response);

/* The body as JSON, read when first asked for. A part of it is named by a JSON Pointer (RFC 6901): "/results/0/title"; ""
 * is the whole. */

typedef enum nj_json_type {
  NJ_JSON_NONE = 0, /* nothing is there, or the body is no JSON */
  NJ_JSON_NULL = 1,
  NJ_JSON_BOOLEAN = 2,
  NJ_JSON_INTEGER = 3, /* of 64 bits, signed or not */
  NJ_JSON_NUMBER = 4,  /* any other */
  NJ_JSON_STRING = 5,
  NJ_JSON_ARRAY = 6,
  NJ_JSON_OBJECT = 7
} nj_json_type;

NJ_API nj_json_type nj_response_json_type(const nj_response *response, const char *pointer);

/**
 * Reads a value; `out` is as before where it fails. No number is cut: 3.0 is an integer, 3.5 and what is out of range are
 * not.
 *
 * @param out_length may be NULL; the string is borrowed as long as the response, and NUL is behind it (and may be in it)
 * @return NJ_DECODING for a body that is no JSON and for a value of another type or none, whose path, type and the one
 *         that was wanted the error names; NJ_INVALID_ARGUMENT for NULL and for what is no JSON Pointer
 */
NJ_API nj_status nj_response_json_bool(const nj_response *response, const char *pointer, bool *out,
                                       nj_error **out_error);
NJ_API nj_status nj_response_json_int64(const nj_response *response, const char *pointer, int64_t *out,
                                        nj_error **out_error);
NJ_API nj_status nj_response_json_uint64(const nj_response *response, const char *pointer, uint64_t *out,
                                         nj_error **out_error);
NJ_API nj_status nj_response_json_double(const nj_response *response, const char *pointer, double *out,
                                         nj_error **out_error);
NJ_API nj_status nj_response_json_string(const nj_response *response, const char *pointer, const char **out,
                                         size_t *out_length, nj_error **out_error);

/** How many elements an array has, or members an object. */
NJ_API nj_status nj_response_json_count(const nj_response *response, const char *pointer, size_t *out,
                                        nj_error **out_error);

/** The name of a member of an object, in order; NULL for an index that is not below the count, and for no object. */
NJ_API const char *nj_response_json_key_at(const nj_response *response, const char *pointer, size_t index,
                                           size_t *out_length);

/** The JSON text of any part, for a library of yours to read. */
NJ_API nj_status nj_response_json_text(const nj_response *response, const char *pointer, const char **out,
                                       size_t *out_length, nj_error **out_error);

/** One more owner of the same response; NULL for NULL. */
NJ_API nj_response *nj_response_retain(const nj_response *response);
NJ_API void nj_response_release(nj_response *response);

/* ------------------------------------------------------------------------------------------------------- task --- */

/** Ends the call with NJ_CANCELLED unless it has ended already. Again, later, or for NULL: nothing happens. */
NJ_API void nj_task_cancel(nj_task *task);

/** Whether the task's completion has been delivered or is due at its queue. True for NULL. */
NJ_API bool nj_task_is_finished(const nj_task *task);

NJ_API nj_task *nj_task_retain(nj_task *task);
/** Does not cancel. */
NJ_API void nj_task_release(nj_task *task);

/* ------------------------------------------------------------------------------------------------------ batch --- */

/**
 * Sends `count` requests, `concurrency` at a time and in their order, and waits on this thread for all of them to end; it runs
 * their callbacks meanwhile. One nj_request may be there several times.
 *
 * With `collect_errors` each request has its own end: `out_responses[i]` or `out_errors[i]` is set and the other NULL. Without
 * it the first failure ends the batch: what is under way is cancelled, nothing more is started, `out_error` has that failure
 * (nj_error_batch_index) and all of `out_responses` is NULL.
 *
 * @param requests      not changed until this returns, by a callback either
 * @param concurrency   from 1; NJ_BATCH_CONCURRENCY is what browsers do
 * @param out_responses `count` places, written in the order of the requests; each response is yours to release
 * @param out_errors    `count` places, each error yours to free; NULL unless `collect_errors`
 * @return NJ_OK, with `collect_errors` whatever the calls came to; the kind of the first failure; or that of a mistake in the
 *         arguments (NJ_INVALID_ARGUMENT, NJ_FORKED, NJ_REENTRANT), after which every place is NULL
 */
NJ_API nj_status nj_client_send_batch(nj_client *client, const nj_request *const *requests, size_t count,
                                      size_t concurrency, bool collect_errors, nj_response **out_responses,
                                      nj_error **out_errors, nj_error **out_error);
#define NJ_BATCH_CONCURRENCY 6

/**
 * Called once for each request of a started batch, as they end, with its index. Exactly one of `response` and `error` is
 * non-NULL, borrowed until this returns. Those that were not started any more fail with NJ_CANCELLED.
 */
typedef void (*nj_batch_done_fn)(void *context, nj_batch *batch, size_t index, const nj_response *response,
                                 const nj_error *error);

/**
 * Called once, after all of these, whatever happened. `error` is NULL, or borrowed: without `collect_errors` the failure that
 * ended the batch, otherwise NJ_CANCELLED where nj_batch_cancel or nj_queue_free did.
 */
typedef void (*nj_batch_finished_fn)(void *context, nj_batch *batch, const nj_error *error);

/**
 * The same without waiting: `done` and `finished` run inside nj_queue_poll of `queue`, one at a time, and may start, cancel and
 * free anything. Of what has ended nothing is kept: memory is that of the requests and of `concurrency` calls.
 *
 * @param requests copied, callbacks and their contexts included
 * @param done     NULL where only the end of all is of interest
 * @param context  passed to both, never read; must live until `finished` has run
 * @return the batch, yours to release (which does not cancel), or NULL: an argument was wrong, and nothing is called
 */
NJ_API nj_batch *nj_client_start_batch(nj_client *client, const nj_request *const *requests, size_t count,
                                       size_t concurrency, bool collect_errors, nj_queue *queue, nj_batch_done_fn done,
                                       nj_batch_finished_fn finished, void *context, nj_error **out_error);

/** Cancels what is under way and starts nothing more. Nothing happens when it has ended. */
NJ_API void nj_batch_cancel(nj_batch *batch);

/** Whether all of its calls have ended. True for NULL. */
NJ_API bool nj_batch_is_finished(const nj_batch *batch);

/** One more owner of the same batch; NULL for NULL. */
NJ_API nj_batch *nj_batch_retain(nj_batch *batch);
NJ_API void nj_batch_release(nj_batch *batch);

/* ------------------------------------------------------------------------------------------------------ queue --- */

NJ_API nj_queue *nj_queue_new(void);

/**
 * Cancels the tasks and batches that deliver here and runs their completions on this thread; returns when none is left.
 * From inside a callback of the same queue that happens as soon as the nj_queue_poll around it ends.
 */
NJ_API void nj_queue_free(nj_queue *queue);

/**
 * Readable while something is due: watch it with epoll, poll or an event library and call nj_queue_poll. Owned by the
 * queue: neither read nor close it. -1 when the system has no descriptor left.
 */
NJ_API int nj_queue_fd(nj_queue *queue);

/**
 * Runs due callbacks on this thread, in the order of their events, and waits up to `timeout` seconds for the first one (0: does
 * not wait; negative: waits without limit). One thread runs a queue's callbacks at a time.
 *
 * The function starts no callback after 1,024 events or 10 ms. The remaining events stay due: nj_queue_fd stays readable, and the
 * next nj_queue_poll returns without waiting.
 *
 * @return events handled; 0 from inside a callback of the same queue
 */
NJ_API size_t nj_queue_poll(nj_queue *queue, double timeout);

/** Makes the nj_queue_poll that waits, or the next one, return. */
NJ_API void nj_queue_wake(nj_queue *queue);

/* ------------------------------------------------------------------------------------------------- pagination --- */

/* Lists that a server gives in pages, item by item or page by page, with the next page loaded while the one before is used. Made
 * for a loop:
 *
 *     nj_pager *pager = nj_pager_new(client, request, NULL, NULL, &err);
 *     const char *item;
 *     while (pager && nj_pager_next_item(pager, &item, NULL, &err) == NJ_NEXT_FOUND) puts(item);
 *     if (err) fprintf(stderr, "%s\n", nj_error_message(err));
 *
 * A list never ends silently before its end: what does not fit the style, a page that repeats, and more pages or items than the
 * bounds allow are errors. After an error the loop may be begun again: the page that failed is loaded again. */

/** How a list goes on from one answer to the next. Members may be added. */
typedef enum nj_pagination_style {
  NJ_PAGINATION_GUESS = 0,  /* found out from the first answer, and said: nj_pager_explanation */
  NJ_PAGINATION_PAGE = 1,   /* ?page=2 */
  NJ_PAGINATION_OFFSET = 2, /* ?offset=20; what is deleted meanwhile lets items slip by unseen */
  NJ_PAGINATION_CURSOR = 3, /* ?cursor=..., an opaque text that the answer before gives */
  NJ_PAGINATION_LINK = 4,   /* a Link field with rel=next, RFC 8288 */
  NJ_PAGINATION_NEXT = 5,   /* the URL of the next page in the body */
  NJ_PAGINATION_HEADER = 6, /* a token, or the next URL, in a header field of the response */
  NJ_PAGINATION_CUSTOM = 7  /* nj_pager_go_on says, after each page */
} nj_pagination_style;

/** NULL for a style that is none. */
NJ_API nj_pagination *nj_pagination_new(nj_pagination_style style);
NJ_API void nj_pagination_free(nj_pagination *pagination);

/**
 * Where in an answer the items are, and the cursor or URL of the next page; and where in an item is what tells it from others,
 * so that none is given twice: JSON Pointers (RFC 6901), "/results", "/next_cursor", "/id". NULL: found out; no key.
 *
 * @return NJ_INVALID_ARGUMENT for what is no JSON Pointer
 */
NJ_API nj_status nj_pagination_set_items(nj_pagination *pagination, const char *pointer);
NJ_API nj_status nj_pagination_set_next(nj_pagination *pagination, const char *pointer);
NJ_API nj_status nj_pagination_set_key(nj_pagination *pagination, const char *pointer);

/**
 * Sets what a JSON object names: style ("guess", "page", "offset", "cursor", "link", "next", "header", "custom"), items, next,
 * key, param (the query item that asks for a page), size_param and size, first (the number of the first page), header and
 * request_header (of a token), more and total (pointers to what the answer says of more items and their number), prefetch (pages
 * loaded ahead, 1), max_pages (100,000), max_items (10,000,000), allow_origins (others that a next page may be of; they get no
 * credentials). What it does not name stays.
 *
 * @param length of `json` in bytes, which need not end in NUL
 * @return NJ_INVALID_ARGUMENT for an unknown key or a wrong value, NJ_DECODING when it is not JSON. Then nothing has changed.
 */
NJ_API nj_status nj_pagination_merge_json(nj_pagination *pagination, const char *json, size_t length,
                                          nj_error **out_error);

/**
 * Seconds that the list may be read, all in all, from the first page that is asked for; NJ_NO_LIMIT, the default, leaves each
 * call its own limit. A server that asks for time in the middle (429 or 503 with Retry-After) is waited for within it, or within
 * an hour.
 *
 * @return NJ_INVALID_ARGUMENT for what nj_config_set_total_timeout does not take either
 */
NJ_API nj_status nj_pagination_set_total_timeout(nj_pagination *pagination, double seconds);

/**
 * A list, of which nothing is loaded yet. For one thread at a time, but for nj_pager_cancel.
 *
 * @param request    of the first page, copied; those of the others are made of it. Callbacks of it are not called.
 * @param pagination copied; NULL: as the request's endpoint says, and found out where it does not
 * @param state      where to go on, of nj_pager_state or nj_page_state, perhaps of another process; NULL: at the beginning
 * @return NULL: options that make no sense together, a state that is none of this list (NJ_INVALID_ARGUMENT), or a request
 *         that cannot be sent
 */
NJ_API nj_pager *nj_pager_new(nj_client *client, const nj_request *request, const nj_pagination *pagination,
                              const char *state, nj_error **out_error);

/** Gives up what is loaded; a nj_next_page_fn that is due still runs. */
NJ_API void nj_pager_free(nj_pager *pager);

/** What asking for the next came to. */
typedef enum nj_next {
  NJ_NEXT_FAILED = -1, /* `out_error` says why */
  NJ_NEXT_END = 0,     /* of the list */
  NJ_NEXT_FOUND = 1
} nj_next;

/**
 * The next item, waiting on this thread for its page where it is not there yet.
 *
 * @param out_json   the item's JSON text, with NUL behind it; borrowed until the next call for this pager. NULL unless found.
 * @param out_length may be NULL
 */
NJ_API nj_next nj_pager_next_item(nj_pager *pager, const char **out_json, size_t *out_length, nj_error **out_error);

/**
 * The next page, waiting on this thread for it; where items of one were taken one by one, the page behind that: what was left
 * of it is passed over. Pages without items are given too, for their responses; two kinds are not: the empty page by which a
 * list of style page or offset ends, and a last page that the server repeats.
 *
 * @param out_page yours to free; NULL unless found
 */
NJ_API nj_next nj_pager_next_page(nj_pager *pager, nj_page **out_page, nj_error **out_error);

/** Called once for each nj_pager_start_next_page: with a page, an error, or, at the end, neither; borrowed until it returns. */
typedef void (*nj_next_page_fn)(void *context, nj_pager *pager, nj_page *page, const nj_error *error);

/**
 * The same without waiting: `done` runs inside nj_queue_poll of `queue`. Asked for again before it has run, the next calls get
 * the pages behind, in order; one is loaded at a time.
 *
 * @param context passed to `done`, never read; must live until `done` has run
 * @return NJ_OK; NJ_INVALID_ARGUMENT, NJ_FORKED, or NJ_CLOSED for the queue, after which `done` is never called
 */
NJ_API nj_status nj_pager_start_next_page(nj_pager *pager, nj_queue *queue, nj_next_page_fn done, void *context);

/**
 * How a list of NJ_PAGINATION_CUSTOM goes on behind the page given last: at a URL, relative to the one that answered; by query
 * items (name, value, name, value, and NULL behind them), in place of those of the same names; or, with NULL, not at all.
 *
 * What cannot be done, whoever asks for the next page is told: NJ_INVALID_ARGUMENT where there is nothing to decide, NJ_PROTOCOL
 * for a URL of an origin that is not allowed.
 *
 * @return NJ_INVALID_ARGUMENT for NULL, bad UTF-8, and a last name without a value
 */
NJ_API nj_status nj_pager_go_on(nj_pager *pager, const char *url);
NJ_API nj_status nj_pager_go_on_query(nj_pager *pager, const char *const *items);

/** Begins anew with the first page; what was met and found out is forgotten. */
NJ_API void nj_pager_refresh(nj_pager *pager);

/** Ends what is loaded: who waits for it is told NJ_CANCELLED. The place stays: whoever asks later has the same page loaded
 * again. From any thread. */
NJ_API void nj_pager_cancel(nj_pager *pager);

/**
 * Where the list is, for nj_pager_new: behind the item or the page that was given last. Without secrets.
 *
 * @return yours to free with nj_text_free; NULL for NULL
 */
NJ_API char *nj_pager_state(nj_pager *pager);

/** What was found out about the list, as a sentence: "guessed: style cursor, ..."; empty: nothing had to be. Yours to free with
 * nj_text_free. */
NJ_API char *nj_pager_explanation(nj_pager *pager);

/** Counts from 1. */
NJ_API int64_t nj_page_number(const nj_page *page);

/** Items that are given: without those that were given before, by their keys. */
NJ_API size_t nj_page_count(const nj_page *page);

/** The JSON text of an item, with NUL behind it, borrowed from the page; NULL for an index that is not below the count. */
NJ_API const char *nj_page_item(const nj_page *page, size_t index, size_t *out_length);

/** The answer that it came with, borrowed from the page. */
NJ_API const nj_response *nj_page_response(const nj_page *page);

/** Where the list is behind the first `consumed` items of this page. Yours to free with nj_text_free. */
NJ_API char *nj_page_state(const nj_page *page, size_t consumed);

/** Keeps a page that a callback borrowed; each of them is freed once. NULL for NULL. */
NJ_API nj_page *nj_page_retain(nj_page *page);
NJ_API void nj_page_free(nj_page *page);

/* ----------------------------------------------------------------------------------------------------- script --- */

/**
 * An embedded Lua 5.4 with the module `nightjar` in it (`require "nightjar"`) and the full standard library. Its calls
 * and coroutines run on the thread that calls nj_script_run. Files and descriptors that it waits for are looked after by
 * threads of its own, which begin with the first and end with it; the processes that it starts (`nightjar.process`) are
 * ended with it, and it never waits for another child of yours.
 *
 * @param client what `nightjar.client()` without options gives to the script; the script keeps it. NULL: it makes its own.
 *               What the script logs by `nightjar.log` goes to the log of that client (nj_config_set_log); without one, to
 *               standard error, or nowhere in a sandbox.
 */
NJ_API nj_script *nj_script_new(nj_client *client);

/** Not while it runs. */
NJ_API void nj_script_free(nj_script *script);

/**
 * Makes the script a sandbox, for scripts that you did not write. Must be called before the script is used.
 *
 * - Lua: io, os, debug, package, print and the modules of `nightjar` for files, processes and standard input are absent.
 *   `load` accepts text only. Finalizers (`__gc`) are rejected.
 * - Client: the script cannot create clients and uses the one that it was given. Its calls go to the origin of the client's base URL,
 *   at or below the path of that URL (nj_script_set_path_scope), and to the origins of nj_script_allow_origin. Redirects and
 *   next pages to other origins or paths fail. TRACE, TRACK, CONNECT and the headers Host and X-Forwarded-Host are rejected.
 * - State: the script has its own cookies and its own cache in memory, both empty at first. It neither reads nor changes those of
 *   the client. The cache uses at most a sixteenth of the memory limit, in addition to the limit.
 * - Secrets: the script does not see Set-Cookie and other response headers that carry credentials, nor the secrets in the URLs of
 *   redirects, nor request headers that it has not set. A server that echoes requests in its responses can still reveal them.
 * - Options of a call (timeout, max_body, retry, redirect, respect_retry_after) can tighten the client's options and not loosen
 *   them.
 * - Log: a script that floods its log is stopped: beyond 10,000 lines or 4 MiB, and 100 lines or 64 KiB a second since then.
 *
 * A sandboxed script ends within about a second when a limit below is reached or nj_script_interrupt is called. This also holds
 * inside message handlers and closers of `<close>` variables. After a stop, each coroutine has 1000 instructions for its closers,
 * or none if a C function was interrupted. The host must bound the run time of the functions that it registers.
 *
 * @return NJ_INVALID_ARGUMENT when the script has been used already
 */
NJ_API nj_status nj_script_set_sandboxed(nj_script *script, bool sandboxed);

/* "Before it is used" below: before the first run, function or global. A script has limits unless you take them off.
 *
 * The limits and nj_script_interrupt end a script between steps of the Lua machine and while it waits. In a sandbox they also end
 * it inside the library functions written in C, whose work counts as steps. Without a sandbox, one such call can take any time:
 * string.find and similar functions take exponential time on some patterns. */

/**
 * Before it is used, of a sandboxed script: allows it calls to the origin of this URL. It may ask that of its client's base
 * URL, those so allowed and no other; redirects and next pages lead it to no other either.
 *
 * @return NJ_INVALID_URL for a URL that is none; what a script that is not sandboxed was allowed, its first run refuses
 */
NJ_API nj_status nj_script_allow_origin(nj_script *script, const char *url);

/**
 * Before it is used, of a sandboxed script: limits its calls to the base URL's origin to this path and the paths below it, as
 * nj_config_set_path_scope does for all calls of a client. The path of the base URL unless set; "/": all paths.
 *
 * @return NJ_INVALID_ARGUMENT if `path` is not an encoded path. If the script has no sandbox or its client has no base URL, the
 *         first run fails with NJ_INVALID_ARGUMENT.
 */
NJ_API nj_status nj_script_set_path_scope(nj_script *script, const char *path);

/**
 * Before it is used: limits the bytes that Lua and its JSON parser may have allocated at a time. 256 MiB unless set; 0: no limit.
 * In a sandbox, memory for its calls counts too: request bodies that are not sent yet, response bodies that the script still
 * holds, and 8 KiB for each call. In addition to the limit, freed blocks of at most a sixteenth of it and at most 256 KiB are kept
 * for later allocations.
 */
NJ_API nj_status nj_script_set_memory_limit(nj_script *script, size_t bytes);

/**
 * Before it is used: steps of the Lua machine that one run may take, to the nearest 1000; each coroutine and task counts
 * for 100 more. 100,000,000,000 unless set, some ten minutes of computing; 0: no limit.
 */
NJ_API nj_status nj_script_set_instruction_limit(nj_script *script, uint64_t count);

/** Before it is used: the same, without waiting in between. 1,000,000,000 unless set, some seconds; 0: no limit. */
NJ_API nj_status nj_script_set_burst_limit(nj_script *script, uint64_t count);

/** Before it is used: seconds that one run may take, waiting included; NJ_NO_LIMIT: no limit. 3600 unless set. */
NJ_API nj_status nj_script_set_time_limit(nj_script *script, double seconds);

/**
 * Runs a chunk of Lua to its end, and the tasks that it has spawned to theirs. Globals stay for the next run.
 *
 * @param length of `source` in bytes; bytecode is refused
 * @param name   what messages call the chunk; NULL for "script"
 * @return NJ_SCRIPT for a syntax error, an error that nothing caught (its message with a traceback), a limit that was
 *         reached or an interrupt
 */
NJ_API nj_status nj_script_run(nj_script *script, const char *source, size_t length, const char *name,
                               nj_error **out_error);
NJ_API nj_status nj_script_run_file(nj_script *script, const char *path, nj_error **out_error);

/** What a script and its host can exchange. */
typedef enum nj_value_kind {
  NJ_VALUE_NIL = 0, /* also for an argument that was not given */
  NJ_VALUE_BOOLEAN = 1,
  NJ_VALUE_INTEGER = 2,
  NJ_VALUE_NUMBER = 3, /* one with a fraction */
  NJ_VALUE_STRING = 4,
  NJ_VALUE_OTHER = 5 /* a table, a function, a response and so on: stays inside */
} nj_value_kind;

/**
 * A function of yours that scripts call. Runs inside nj_script_run, on its thread. It reads its arguments and leaves its
 * results with the functions below; it must not run this script, and must not unwind (no exception, no longjmp) through us.
 */
typedef void (*nj_script_fn)(void *context, nj_script_call *call);

/**
 * Makes `function` a global of the script.
 *
 * @param context passed to `function`, never read; must live as long as the script
 */
NJ_API nj_status nj_script_register(nj_script *script, const char *name, nj_script_fn function, void *context,
                                    nj_error **out_error);

/** Arguments, counted from 0. A getter answers 0, false or NULL for an argument of another kind. */
NJ_API size_t nj_script_call_count(const nj_script_call *call);
NJ_API nj_value_kind nj_script_call_kind(const nj_script_call *call, size_t index);
NJ_API bool nj_script_call_boolean(const nj_script_call *call, size_t index);
NJ_API int64_t nj_script_call_integer(const nj_script_call *call, size_t index);
NJ_API double nj_script_call_number(const nj_script_call *call, size_t index);
/** Borrowed until the function returns; there is a NUL behind the last byte. `out_length` may be NULL. */
NJ_API const char *nj_script_call_string(const nj_script_call *call, size_t index, size_t *out_length);

/** Adds a result behind those before it. */
NJ_API void nj_script_call_return_nil(nj_script_call *call);
NJ_API void nj_script_call_return_boolean(nj_script_call *call, bool value);
NJ_API void nj_script_call_return_integer(nj_script_call *call, int64_t value);
NJ_API void nj_script_call_return_number(nj_script_call *call, double value);
NJ_API void nj_script_call_return_string(nj_script_call *call, const void *bytes, size_t length);

/** Raises an error in the script when the function returns; its results are dropped. */
NJ_API void nj_script_call_fail(nj_script_call *call, const char *message);

/** Sets a global of the script. */
NJ_API nj_status nj_script_set_boolean(nj_script *script, const char *name, bool value);
NJ_API nj_status nj_script_set_integer(nj_script *script, const char *name, int64_t value);
NJ_API nj_status nj_script_set_number(nj_script *script, const char *name, double value);
NJ_API nj_status nj_script_set_string(nj_script *script, const char *name, const void *bytes, size_t length);

/** Ends the run in progress with an error that the script cannot catch. Any thread; without a run, nothing happens. */
NJ_API void nj_script_interrupt(nj_script *script);

#ifdef __cplusplus
}
#endif

#endif
