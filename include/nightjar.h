/* nightjar.h - the C interface of Nightjar, an embeddable API client.
 *
 * This file is the specification of the library. Anything that is not declared here is not part of the interface.
 *
 * Overview
 * --------
 * A program fills an nj_config, makes an nj_client from it, and sends nj_request objects with the client. The program
 * either blocks until the response has arrived (nj_client_send) or starts a task and receives the result in a callback
 * that runs inside nj_queue_poll (nj_client_start).
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/v1/articles/1");
 *     nj_response *response = nj_client_send(client, request, &error);
 *     if (response) {
 *       printf("%d %s\n", nj_response_status(response), nj_response_body(response, NULL));
 *     } else {
 *       fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(error)), nj_error_message(error));
 *     }
 *     nj_response_release(response);
 *     nj_request_free(request);
 * @endcode
 *
 * Handles and ownership
 * ---------------------
 * All handle types are opaque. The caller owns each handle that a function in the second column returns, and releases it
 * once with the function in the last column. The release functions ignore NULL.
 *
 *   type              obtained from                                            threads        released with
 *   ----------------  -------------------------------------------------------  -------------  -----------------------
 *   nj_config         nj_config_new                                            one at a time  nj_config_free
 *   nj_client         nj_client_new                                            any            nj_client_free
 *   nj_request        nj_request_new, _copy, _from_endpoint                    one at a time  nj_request_free
 *   nj_form           nj_form_new                                              one at a time  nj_form_free
 *   nj_queue          nj_queue_new                                             any            nj_queue_free
 *   nj_task           nj_client_start, _start_log_in, _start_log_out,          any            nj_task_release
 *                     _start_drain, _start_events, nj_resource_get,
 *                     _reload, _mutate, nj_script_start_run,
 *                     _start_invoke, nj_task_retain
 *   nj_canceller      nj_canceller_new                                         any            nj_canceller_free
 *   nj_batch          nj_client_start_batch, nj_batch_retain                   any            nj_batch_release
 *   nj_response       nj_client_send, _cache_get, _send_batch, _retain         any            nj_response_release
 *   nj_error          an `out_error` parameter, nj_error_retain                any            nj_error_release
 *   nj_cookies        nj_cookies_new, nj_cookies_open, nj_client_cookies       any            nj_cookies_free
 *   nj_cookie_list    nj_cookies_list                                          any            nj_cookie_list_free
 *   nj_cache          nj_cache_new, nj_cache_open, nj_client_cache             any            nj_cache_free
 *   nj_catalog        nj_catalog_new, _load_file, nj_client_load_catalog,      any            nj_catalog_free
 *                     nj_client_catalog
 *   nj_graphql_schema nj_graphql_schema_new, nj_client_load_graphql_schema     any            nj_graphql_schema_free
 *   nj_pagination     nj_pagination_new                                        one at a time  nj_pagination_free
 *   nj_paginator      nj_paginator_new                                         one at a time  nj_paginator_free
 *   nj_page           nj_paginator_next_page, nj_page_retain                   any            nj_page_release
 *   nj_events         nj_events_new                                            one at a time  nj_events_free
 *   nj_websocket      nj_websocket_new, nj_client_start_websocket, _retain     any            nj_websocket_release
 *   nj_download       nj_client_download, nj_client_start_download, _retain    any            nj_download_release
 *   nj_upload         nj_client_upload, nj_client_start_upload, _retain        any            nj_upload_release
 *   nj_transfers      nj_transfers_new                                         any            nj_transfers_free
 *   nj_transfer       nj_transfers_start, _get, _wait, _next_ended             any            nj_transfer_free
 *   nj_transfer_list  nj_transfers_list                                        any            nj_transfer_list_free
 *   nj_outbox         nj_outbox_new                                            any            nj_outbox_free
 *   nj_outbox_entry   nj_outbox_record, _get, _wait                            any            nj_outbox_entry_free
 *   nj_token_request  nj_token_request_retain                                  any            nj_token_request_release
 *   nj_challenge      nj_challenge_retain                                      any            nj_challenge_release
 *   nj_address_       nj_address_request_retain                                any            nj_address_request_release
 *     request
 *   nj_store_request  nj_store_request_retain                                  any            nj_store_request_release
 *   nj_script         nj_script_new                                            one at a time  nj_script_free
 *   nj_script_reply   nj_script_call_defer                                     any            nj_script_reply_release
 *   nj_network        nj_network_status                                        any            nj_network_free
 *   nj_network_       nj_network_observer_new                                  any            nj_network_observer_free
 *     observer
 *   nj_resource       nj_resource_new                                          any            nj_resource_free
 *   nj_resource_      nj_resource_observe                                      any            nj_resource_observer_free
 *     observer
 *   nj_snapshot       nj_resource_snapshot                                     any            nj_snapshot_free
 *   char *            nj_paginator_state, nj_client_limits_json and others     any            nj_text_free
 *
 * A callback borrows its nj_prepared_request, nj_proposed_redirect, nj_failed_attempt, nj_login_prompt, nj_pin_report,
 * nj_observation, nj_event, nj_message, nj_script_call or nj_progress. These are valid until the callback returns and are
 * never released.
 *
 * A pointer that a getter returns is borrowed: it is valid until the handle is released, unless the function's
 * comment gives another lifetime. A handle that a callback receives is borrowed until the callback returns. Arguments
 * are copied before a function returns, unless its comment says otherwise. A `context` pointer is passed to the
 * callback and never dereferenced.
 *
 * Threads
 * -------
 * A handle that is marked "any" may be used by several threads at the same time. A handle that is marked "one at
 * a time" may be used by any thread, but not by two at the same time. The library's own threads never call the host's
 * code. Each callback runs on a thread of the host: inside nj_queue_poll, inside nj_queue_free, or inside a blocking
 * function, usually the one that the callback belongs to. nj_queue_free runs the remaining callbacks of the queue,
 * including those whose comment names only nj_queue_poll. A callback must not leave through longjmp or a C++ exception.
 *
 * Errors
 * ------
 * A function that can fail returns nj_status, or a pointer that is NULL on failure. A function with an `out_error`
 * parameter stores an error there on failure and NULL on success. `out_error` may be NULL. The caller releases the
 * error with nj_error_release. Setters and some other functions have no `out_error`; after such a function has failed,
 * nj_error_last returns its error on the same thread. The following errors are common to all functions and are not
 * repeated in their comments:
 *
 *   NJ_INVALID_ARGUMENT  a required handle, text or callback is NULL, a text is not valid UTF-8, a number is out of
 *                        range, or an enumeration has a value that is not one of its members
 *   NJ_FORKED            the handle belongs to the parent of this forked process; see "Fork"
 *   NJ_NO_MEMORY         memory for content could not be allocated: for a body, a JSON document or a file
 *
 * A setter that fails changes nothing. A getter that is called with a NULL handle returns the value that its comment
 * gives for "none": NULL, false, 0, or -1 where 0 is a valid value. No function changes errno, writes to standard
 * output or standard error, or ends the process. There are two exceptions. A script that is not sandboxed may print,
 * log to standard error (nj_script_new) and call os.exit. The Swift runtime ends the process with a signal if an
 * allocation of up to 64 KiB fails.
 *
 * Strings and numbers
 * -------------------
 * Text is UTF-8 and ends with NUL, unless a parameter gives its length. Sizes are in bytes. Durations are in seconds,
 * as a double from 0 to 3153600000 (100 years). NJ_NO_LIMIT, which is 0, and INFINITY mean "no limit" for every timeout
 * and limit whose comment names NJ_NO_LIMIT. NaN and negative durations are rejected.
 *
 * All enumerations are open ("Members may be added"): later versions of the library may return values that this header
 * does not name. A program treats an unknown nj_status as a failure, and any other unknown value as "something else".
 *
 * Fork, signals, exit
 * -------------------
 * After fork, handles that own threads, locks or files belong to the parent: clients, queues, tasks, batches, caches,
 * cookie jars, paginators, event streams, WebSockets, downloads, uploads, background transfers (nj_transfers), outboxes,
 * resources, token requests, challenges, address requests, store requests and scripts. In the child, their functions fail
 * with NJ_FORKED, or return their value for "none" if they return no status. A network observer of the parent reports
 * nothing in the child, and a script reply of the parent has no effect there. The child may free all these handles. This
 * does not affect the parent.
 *
 * Configurations, requests, forms, pagination rules, catalogs, GraphQL schemas, cookie lists, responses, snapshots,
 * pages, errors, network statuses, and the records of transfers and outbox entries (nj_transfer, nj_transfer_list,
 * nj_outbox_entry) work in the child, and so do all handles that the child creates. A canceller works too, unless
 * another thread of the parent used it during fork; in the child, it does not affect the calls of the parent.
 *
 * The library's threads block all signals. The library does not change the disposition of SIGPIPE, and stays mapped
 * after dlclose.
 *
 * Functions
 * ---------
 *
 *   Visibility, and the version of the library that runs
 *     nj_version, nj_version_number
 *
 *   Basic types
 *     nj_status_name, nj_text_free, nj_sha256, nj_hmac_sha256
 *
 *   nj_error: the reason of a failure
 *     nj_error_retain, nj_error_release, nj_error_last, nj_error_kind, nj_error_phase, nj_error_message,
 *     nj_error_user_message, nj_error_url, nj_error_http_status, nj_error_response, nj_error_details_title,
 *     nj_error_details_message, nj_error_details_detail, nj_error_details_code, nj_error_details_type,
 *     nj_error_details_field_count, nj_error_details_field_name_at, nj_error_details_field_message_at,
 *     nj_error_is_retryable, nj_error_may_have_been_processed, nj_error_retry_after, nj_error_attempts,
 *     nj_error_earlier_count, nj_error_earlier, nj_error_explain, nj_error_explain_json, nj_error_idempotency_key,
 *     nj_error_delivered, nj_error_code, nj_error_batch_index, nj_error_tls_json, nj_error_curl
 *
 *   nj_queue: events for the thread that calls nj_queue_poll
 *     nj_queue_new, nj_queue_free, nj_queue_fd, nj_queue_poll, nj_queue_wake
 *
 *   nj_config: the settings of a client
 *     nj_config_new, nj_config_free, nj_config_merge_json, nj_config_set_base_url, nj_config_set_path_scope,
 *     nj_config_set_header, nj_config_set_user_agent, nj_config_set_connect_timeout, nj_config_set_idle_timeout,
 *     nj_config_set_total_timeout, nj_config_set_max_body, nj_config_set_max_connections_per_host,
 *     nj_config_set_http_versions, nj_config_set_idle_connection_lifetime, nj_config_set_max_redirects,
 *     nj_config_set_allow_downgrade, nj_config_set_lenient_line_endings, nj_config_set_decompress,
 *     nj_config_set_proxy, nj_config_set_no_proxy, nj_config_use_environment_proxy, nj_config_set_unix_socket,
 *     nj_config_set_resolve, nj_config_set_ip_family, nj_config_set_local_address, nj_config_set_interface,
 *     nj_config_set_address_filter, nj_config_set_resolver, nj_config_on_addresses, nj_config_set_https_only,
 *     nj_config_set_ca_file, nj_config_set_ca_pem, nj_config_set_client_certificate_pem,
 *     nj_config_set_client_certificate_pkcs12, nj_config_set_key_log_file, nj_config_set_verify_certificates,
 *     nj_config_on_pin_mismatch, nj_pin_report_host, nj_pin_report_is_enforced, nj_pin_report_expected_count,
 *     nj_pin_report_expected_at, nj_pin_report_served_count, nj_pin_report_served_at, nj_config_base_url,
 *     nj_config_path_scope, nj_config_header, nj_config_header_count, nj_config_header_name_at,
 *     nj_config_header_value_at, nj_config_user_agent, nj_config_unix_socket, nj_config_local_address,
 *     nj_config_interface, nj_config_shared_loop, nj_config_journal, nj_config_connect_timeout,
 *     nj_config_idle_timeout, nj_config_total_timeout, nj_config_idle_connection_lifetime, nj_config_max_body,
 *     nj_config_max_connections_per_host, nj_config_max_redirects, nj_config_retry_attempts, nj_config_decompress,
 *     nj_config_coalesce, nj_config_ephemeral, nj_config_verify_certificates, nj_config_ca_file, nj_config_https_only,
 *     nj_config_allow_downgrade, nj_config_ip_family, nj_config_set_shared_loop, nj_config_set_ephemeral,
 *     nj_config_set_journal, nj_config_set_log, nj_config_set_observer, nj_observation_step, nj_observation_call_id,
 *     nj_observation_time, nj_observation_attempt, nj_observation_method, nj_observation_url, nj_observation_host,
 *     nj_observation_address, nj_observation_http_version, nj_observation_reused_connection, nj_observation_duration,
 *     nj_observation_http_status, nj_observation_source, nj_observation_failure, nj_observation_dropped,
 *     nj_config_on_request, nj_config_on_response, nj_config_on_store, nj_prepared_request_call_id,
 *     nj_prepared_request_method, nj_prepared_request_url, nj_prepared_request_header,
 *     nj_prepared_request_header_count, nj_prepared_request_header_name_at, nj_prepared_request_header_value_at,
 *     nj_prepared_request_body, nj_prepared_request_body_sha256, nj_prepared_request_set_header,
 *     nj_prepared_request_set_cache_partition
 *
 *   Authentication
 *     nj_config_set_bearer, nj_config_set_basic_auth, nj_config_set_digest_auth, nj_config_set_api_key_header,
 *     nj_config_set_api_key_query, nj_config_set_api_key_cookie, nj_config_set_auth_json, nj_config_set_token_store,
 *     nj_config_set_token_provider, nj_config_on_login_required
 *
 *   nj_token_request: a decision request for a token
 *     nj_token_request_retain, nj_token_request_release, nj_token_request_was_rejected, nj_token_request_respond,
 *     nj_token_request_fail
 *
 *   nj_store_request: a decision request for the record of a login
 *     nj_store_request_retain, nj_store_request_release, nj_store_request_operation, nj_store_request_key,
 *     nj_store_request_record, nj_store_request_respond, nj_store_request_fail
 *
 *   nj_challenge: a decision request for the challenge of a server
 *     nj_config_on_challenge, nj_challenge_retain, nj_challenge_release, nj_challenge_kind, nj_challenge_host,
 *     nj_challenge_port, nj_challenge_is_proxy, nj_challenge_is_encrypted, nj_challenge_scheme, nj_challenge_realm,
 *     nj_challenge_rejections, nj_challenge_json, nj_challenge_use_default, nj_challenge_use_password,
 *     nj_challenge_use_certificate_file, nj_challenge_use_certificate_pkcs12, nj_challenge_cancel
 *
 *   nj_address_request: a decision request for the addresses of a host
 *     nj_address_request_retain, nj_address_request_release, nj_address_request_host, nj_address_request_port,
 *     nj_address_request_is_proxy, nj_address_request_count, nj_address_request_at, nj_address_request_respond,
 *     nj_address_request_fail, nj_address_request_use_default
 *
 *   Retries
 *     nj_config_set_retry_attempts, nj_config_set_retry_backoff, nj_config_set_retry_max_wait,
 *     nj_config_set_respect_retry_after, nj_request_set_respect_retry_after, nj_config_set_pause_header,
 *     nj_request_set_retry_attempts, nj_request_on_retry, nj_failed_attempt_error, nj_failed_attempt_number,
 *     nj_failed_attempt_delay, nj_failed_attempt_reason, nj_failed_attempt_set_delay, nj_task_retry,
 *     nj_request_set_idempotency_key, nj_request_set_idempotent, nj_idempotency_key_new
 *
 *   Limits
 *     nj_config_set_rate_limit, nj_config_set_concurrency, nj_config_set_circuit_breaker, nj_config_set_max_queued,
 *     nj_request_set_limit_group, nj_config_set_coalesce, nj_request_set_coalesce, nj_client_limits_json
 *
 *   Network: its status, and calls that wait for it
 *     nj_network_status, nj_network_free, nj_network_is_online, nj_network_metered, nj_network_captive,
 *     nj_network_is_constrained, nj_network_interface, nj_network_kind, nj_network_set_constrained,
 *     nj_network_observer_new, nj_network_observer_free, nj_config_set_wait_for_connectivity,
 *     nj_request_set_wait_for_connectivity, nj_config_set_allow_metered, nj_request_set_allow_metered,
 *     nj_config_set_allow_constrained, nj_request_set_allow_constrained, nj_error_offline_reason,
 *     nj_request_on_waiting
 *
 *   Testing without a network
 *     nj_config_set_mock, nj_client_mock_uses, nj_client_mock_verify, nj_client_mock_reset, nj_config_set_cassette,
 *     nj_config_set_network_profile
 *
 *   nj_client: connections, policies and the event loop that runs them
 *     nj_client_new, nj_client_free, nj_client_send, nj_client_start, nj_client_set_token, nj_client_log_out,
 *     nj_client_log_in, nj_client_start_log_in, nj_client_start_log_out, nj_client_drain, nj_client_start_drain,
 *     nj_client_set_pinning, nj_login_prompt_url, nj_login_prompt_user_code, nj_login_prompt_complete_url
 *
 *   nj_task: a call, login, logout or event stream, in progress or finished
 *     nj_task_retain, nj_task_release, nj_task_cancel, nj_task_is_finished, nj_task_call_id, nj_task_wait,
 *     nj_task_pause, nj_task_resume, nj_task_resume_body
 *
 *   nj_canceller: cancels the calls of requests, also while nj_client_send blocks
 *     nj_canceller_new, nj_canceller_free, nj_canceller_cancel, nj_canceller_is_cancelled
 *
 *   nj_request: a request, and the callbacks of its calls
 *     nj_request_new, nj_request_free, nj_request_copy, nj_request_method, nj_request_target, nj_request_header,
 *     nj_request_header_count, nj_request_header_name_at, nj_request_header_value_at, nj_request_body,
 *     nj_request_connect_timeout, nj_request_idle_timeout, nj_request_total_timeout, nj_request_merge_json,
 *     nj_request_add_query, nj_request_set_parameter, nj_request_set_header, nj_request_add_header,
 *     nj_request_expect_status, nj_request_set_connect_timeout, nj_request_set_idle_timeout,
 *     nj_request_set_total_timeout, nj_request_set_max_body, nj_request_set_use_auth, nj_request_set_use_cookies,
 *     nj_request_set_decompress, nj_request_set_schema, nj_request_set_body, nj_request_set_body_json,
 *     nj_request_set_graphql, nj_request_set_body_file, nj_request_set_body_file_range, nj_request_set_body_form,
 *     nj_request_add_form_field, nj_request_set_body_stream, nj_request_set_body_rewind, nj_request_set_compress,
 *     nj_request_set_expect_continue, nj_request_set_allow_body_on_get, nj_request_set_canceller, nj_request_on_head,
 *     nj_request_on_body, nj_request_on_line, nj_request_on_json, nj_request_on_event, nj_request_set_max_line,
 *     nj_request_on_progress, nj_request_set_max_redirects, nj_request_on_redirect, nj_proposed_redirect_status,
 *     nj_proposed_redirect_source_url, nj_proposed_redirect_url, nj_proposed_redirect_method,
 *     nj_proposed_redirect_set_url
 *
 *   nj_form: the parts of a multipart/form-data body (RFC 7578)
 *     nj_form_new, nj_form_free, nj_form_add_text, nj_form_add_bytes, nj_form_add_file
 *
 *   nj_response: a status, headers and a body
 *     nj_response_retain, nj_response_release, nj_response_status, nj_response_reason, nj_response_http_version,
 *     nj_response_header, nj_response_header_count, nj_response_header_name_at, nj_response_header_value_at,
 *     nj_response_trailer, nj_response_trailer_count, nj_response_trailer_name_at, nj_response_trailer_value_at,
 *     nj_response_body, nj_response_text, nj_response_url, nj_response_source, nj_response_is_being_refreshed,
 *     nj_response_redirect_count, nj_response_redirect_status_at, nj_response_redirect_url_at, nj_response_attempts,
 *     nj_response_explain, nj_response_explain_json, nj_response_idempotency_key, nj_response_curl,
 *     nj_response_time_total, nj_response_time_sent, nj_response_time_first_byte, nj_response_time_dns,
 *     nj_response_time_connect, nj_response_time_tls, nj_response_peer_address, nj_response_tls_json,
 *     nj_response_reused_connection, nj_response_stream_id, nj_response_json_type, nj_response_json_bool,
 *     nj_response_json_int64, nj_response_json_uint64, nj_response_json_double, nj_response_json_string,
 *     nj_response_json_count, nj_response_json_key_at, nj_response_json_text
 *
 *   nj_batch: many calls, a few at a time
 *     nj_client_send_batch, nj_client_start_batch, nj_batch_retain, nj_batch_release, nj_batch_cancel,
 *     nj_batch_is_finished
 *
 *   nj_cookies: a cookie jar (RFC 6265bis)
 *     nj_cookies_new, nj_cookies_open, nj_cookies_free, nj_config_set_cookies, nj_client_cookies, nj_cookies_flush,
 *     nj_cookies_set, nj_cookies_delete, nj_cookies_clear, nj_cookies_import, nj_cookies_export
 *
 *   nj_cookie_list: a snapshot of a cookie jar
 *     nj_cookies_list, nj_cookie_list_free, nj_cookie_list_count, nj_cookie_list_name_at, nj_cookie_list_value_at,
 *     nj_cookie_list_domain_at, nj_cookie_list_path_at, nj_cookie_list_expires_at, nj_cookie_list_secure_at,
 *     nj_cookie_list_http_only_at, nj_cookie_list_same_site_at
 *
 *   nj_cache: an HTTP cache (RFC 9111)
 *     nj_cache_new, nj_cache_open, nj_cache_free, nj_config_set_cache, nj_client_cache, nj_config_set_cache_policy,
 *     nj_request_set_cache_policy, nj_request_set_cache_partition, nj_config_set_login_cookies, nj_request_on_refresh,
 *     nj_client_cache_get, nj_client_cache_put, nj_cache_remove, nj_cache_remove_prefix, nj_cache_clear,
 *     nj_cache_flush, nj_cache_statistics
 *
 *   nj_catalog: the endpoints of an API, by name
 *     nj_catalog_new, nj_catalog_load_file, nj_client_load_catalog, nj_client_catalog, nj_catalog_free,
 *     nj_catalog_add_json, nj_config_set_catalog, nj_catalog_count, nj_catalog_name_at, nj_catalog_endpoint_json,
 *     nj_catalog_json, nj_request_from_endpoint, nj_request_set_argument, nj_request_set_argument_json,
 *     nj_request_set_argument_body_json
 *
 *   nj_pagination: the rules for the next page of a list
 *     nj_pagination_new, nj_pagination_free, nj_pagination_set_items, nj_pagination_set_next, nj_pagination_set_key,
 *     nj_pagination_set_total_timeout, nj_pagination_merge_json, nj_pagination_set_graphql
 *
 *   nj_graphql_schema: the types of a GraphQL service, against which variables are checked
 *     nj_graphql_schema_new, nj_client_load_graphql_schema, nj_graphql_schema_free
 *
 *   nj_paginator: reads a list page by page
 *     nj_paginator_new, nj_paginator_free, nj_paginator_next_item, nj_paginator_next_page,
 *     nj_paginator_start_next_page, nj_paginator_set_next_url, nj_paginator_set_next_query, nj_paginator_refresh,
 *     nj_paginator_cancel, nj_paginator_state, nj_paginator_explanation
 *
 *   nj_page: one page of a list
 *     nj_page_retain, nj_page_release, nj_page_number, nj_page_count, nj_page_item, nj_page_response, nj_page_state
 *
 *   nj_resource: data of an API that a view shows
 *     nj_resource_new, nj_resource_free, nj_resource_set_path, nj_resource_snapshot, nj_resource_observe,
 *     nj_resource_observer_free, nj_resource_get, nj_resource_reload, nj_resource_mutate, nj_client_invalidate,
 *     nj_request_set_invalidates, nj_snapshot_free, nj_snapshot_data, nj_snapshot_error, nj_snapshot_get_phase,
 *     nj_snapshot_get_mutation, nj_snapshot_is_stale, nj_snapshot_generation, nj_snapshot_updated_at
 *
 *   nj_events: event streams (server-sent events, WHATWG HTML section 9.2)
 *     nj_events_new, nj_events_free, nj_events_next, nj_events_last_event_id, nj_events_response,
 *     nj_events_reconnection_time, nj_events_get_state, nj_events_explain, nj_event_type, nj_event_id, nj_event_data,
 *     nj_client_start_events
 *
 *   nj_websocket: WebSockets (RFC 6455)
 *     nj_message_is_first, nj_message_is_last, nj_message_get_kind, nj_message_data, nj_websocket_new,
 *     nj_client_start_websocket, nj_websocket_retain, nj_websocket_release, nj_websocket_connect,
 *     nj_websocket_receive, nj_websocket_send, nj_websocket_try_send, nj_websocket_ping, nj_websocket_close,
 *     nj_websocket_start_close, nj_websocket_cancel, nj_websocket_get_state, nj_websocket_response,
 *     nj_websocket_subprotocol, nj_websocket_close_code, nj_websocket_close_reason, nj_websocket_explain
 *
 *   nj_download: downloads to files
 *     nj_client_download, nj_client_start_download, nj_task_start_download, nj_download_retain, nj_download_release,
 *     nj_download_pause, nj_download_resume, nj_download_cancel, nj_download_get_progress, nj_download_get_file,
 *     nj_download_path, nj_download_resume_state
 *
 *   nj_upload: uploads of files and streams
 *     nj_client_upload, nj_client_start_upload, nj_upload_retain, nj_upload_release, nj_upload_pause,
 *     nj_upload_resume, nj_upload_resume_body, nj_upload_cancel, nj_upload_get_progress, nj_upload_get_content,
 *     nj_upload_url, nj_upload_response, nj_upload_resume_state, nj_client_remove_transfer
 *
 *   nj_transfers: background transfers
 *     nj_transfers_new, nj_transfers_free, nj_transfers_wake, nj_transfers_start, nj_transfers_get, nj_transfers_list,
 *     nj_transfers_wait, nj_transfers_next_ended, nj_transfers_pause, nj_transfers_resume, nj_transfers_cancel,
 *     nj_transfers_retry, nj_transfers_log_json, nj_transfers_acknowledge, nj_transfers_remove, nj_transfer_list_free,
 *     nj_transfer_list_count, nj_transfer_list_at, nj_transfer_free, nj_transfer_id, nj_transfer_is_upload,
 *     nj_transfer_get_state, nj_transfer_url, nj_transfer_path, nj_transfer_upload_url, nj_transfer_transferred,
 *     nj_transfer_total, nj_transfer_rate, nj_transfer_attempts, nj_transfer_error
 *
 *   nj_outbox: writes that are sent until they are accepted
 *     nj_outbox_new, nj_outbox_free, nj_outbox_record, nj_outbox_get, nj_outbox_list_json, nj_outbox_wait,
 *     nj_outbox_retry, nj_outbox_resolve, nj_outbox_remove, nj_outbox_entry_free, nj_outbox_entry_id,
 *     nj_outbox_entry_state, nj_outbox_entry_error, nj_outbox_entry_json
 *
 *   nj_script: a Lua 5.4 interpreter
 *     nj_script_new, nj_script_free, nj_script_set_sandboxed, nj_script_allow_origin, nj_script_set_path_scope,
 *     nj_script_set_memory_limit, nj_script_set_instruction_limit, nj_script_set_burst_limit,
 *     nj_script_set_time_limit, nj_script_run, nj_script_run_file, nj_script_invoke, nj_script_start_run,
 *     nj_script_start_invoke, nj_script_interrupt, nj_script_set_boolean, nj_script_set_integer, nj_script_set_number,
 *     nj_script_set_string, nj_script_set_json, nj_script_get_json, nj_script_register
 *
 *   nj_script_call: a script's call of a host function
 *     nj_script_call_count, nj_script_call_kind, nj_script_call_boolean, nj_script_call_integer,
 *     nj_script_call_number, nj_script_call_string, nj_script_call_json, nj_script_call_return_nil,
 *     nj_script_call_return_boolean, nj_script_call_return_integer, nj_script_call_return_number,
 *     nj_script_call_return_string, nj_script_call_return_json, nj_script_call_fail, nj_script_call_defer
 *
 *   nj_script_reply: the result of a deferred call of a host function
 *     nj_script_reply_return_json, nj_script_reply_fail, nj_script_reply_release
 */
#ifndef NIGHTJAR_H
#define NIGHTJAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
/* In C89, clang warns of the macro bool of stdbool.h. */
#undef bool
__extension__ typedef _Bool bool;
#endif

/* ==================================================================================================================
 * Version
 * ================================================================================================================== */

#define NJ_VERSION_MAJOR 0
#define NJ_VERSION_MINOR 1
#define NJ_VERSION_PATCH 0

/* ==================================================================================================================
 * Visibility, and the version of the library that runs
 * ================================================================================================================== */

#if defined(__GNUC__) || defined(__clang__)
#define NJ_API __attribute__((visibility("default")))
/* The caller owns the result. The compiler reports a call that ignores it. Arguments have no attribute nonnull: it would
 * let compilers remove the checks that report a NULL as NJ_INVALID_ARGUMENT. */
#define NJ_NEW NJ_API __attribute__((warn_unused_result))
#else
#define NJ_API
#define NJ_NEW
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the version of the loaded library, such as "0.1.0". The macros above are the version of this header. The
 * text is static.
 */
NJ_API const char *nj_version(void);

/** Returns the version of the loaded library as major * 1000000 + minor * 1000 + patch. */
NJ_API uint32_t nj_version_number(void);

/* ==================================================================================================================
 * Basic types
 * ================================================================================================================== */

/** The result of a function or of a call. Members may be added: a switch needs a default branch. */
typedef enum nj_status {
  NJ_OK = 0,
  NJ_INVALID_ARGUMENT = 1, /* an argument is NULL, not UTF-8 or out of range */
  NJ_FORKED = 2,           /* the handle belongs to the parent of this forked process */
  NJ_CLOSED = 3,           /* the client or the queue has been closed */
  NJ_REENTRANT = 4,        /* called from inside a callback that the function would wait for */
  NJ_NO_MEMORY = 5,        /* memory for content could not be allocated */

  NJ_CANCELLED = 10,       /* for example, the task was cancelled, or its client or queue was freed */
  NJ_TIMEOUT = 11,         /* nj_error_phase returns the timeout that expired: connect, idle or total */
  NJ_INVALID_URL = 12,
  NJ_INVALID_REQUEST = 13, /* the request has a header, body or option that cannot be sent */
  NJ_OFFLINE = 14,         /* the system has no network that the call may use; see nj_error_offline_reason */
  NJ_DNS = 15,             /* the host name has no address */
  NJ_CONNECT = 16,         /* no address accepted a connection, a proxy refused, or no thread or descriptor is left */
  NJ_TLS = 17,             /* the handshake failed, or the certificate is not trusted */
  NJ_PIN_MISMATCH = 18,    /* the certificate chain is valid, but contains none of the pinned keys */
  NJ_CONNECTION_LOST = 19, /* the connection ended before the response was complete */
  NJ_PROTOCOL = 20,        /* the server violated HTTP, or a redirect cannot be followed */
  NJ_TOO_LARGE = 21,       /* a head, a body, a list or a file exceeds its limit */

  NJ_UNAUTHORIZED = 30, /* status 401, or the login has ended */
  NJ_FORBIDDEN = 31,    /* status 403 */
  NJ_NOT_FOUND = 32,    /* status 404 */
  NJ_RATE_LIMITED = 33, /* status 429, or the call cannot wait for a limit of the client */
  NJ_CLIENT = 34,       /* any other unexpected status below 500 */
  NJ_SERVER = 35,       /* status 500 and above, or an open circuit breaker */
  NJ_CONTENT_CHANGED = 36, /* the content or the file has changed during a transfer, or the transfer cannot continue */

  NJ_DECODING = 40,   /* content is not JSON, or not of the expected shape */
  NJ_CACHE_MISS = 41, /* the cache has no response, and the policy forbids a request */
  NJ_STORAGE = 42,    /* a file or a credential store cannot be read or written */
  NJ_SCRIPT = 43,     /* a Lua script failed */
  NJ_CHECKSUM_MISMATCH = 44, /* the content does not have the digest that the caller or the server has given */
  NJ_GRAPHQL = 45 /* a GraphQL server has rejected a request, or an operation has returned no data */
} nj_status;

/**
 * Returns the name of a status, as used in Lua and the log: "connection_lost". "unknown" if `status` is not a member of
 * nj_status. The text is static.
 */
NJ_API const char *nj_status_name(nj_status status);

/** The step in which a call failed. For NJ_TIMEOUT, the timeout that expired. Members may be added. */
typedef enum nj_phase {
  NJ_PHASE_NONE = 0,    /* the error belongs to no step */
  NJ_PHASE_DNS = 1,     /* resolving the host name */
  NJ_PHASE_CONNECT = 2, /* opening the connection; the connect timeout */
  NJ_PHASE_TLS = 3,     /* the TLS handshake */
  NJ_PHASE_SEND = 4,    /* sending the request */
  NJ_PHASE_RECEIVE = 5, /* waiting for or receiving the response */
  NJ_PHASE_IDLE = 6,    /* the idle timeout */
  NJ_PHASE_TOTAL = 7    /* the total timeout */
} nj_phase;

/** Where a response came from. Members may be added. */
typedef enum nj_source {
  NJ_SOURCE_NETWORK = 0,
  NJ_SOURCE_COALESCED = 1,   /* an exchange that an identical call had started (nj_config_set_coalesce, or the cache) */
  NJ_SOURCE_CACHE = 2,       /* a fresh cache entry */
  NJ_SOURCE_REVALIDATED = 3, /* a cache entry that the server has confirmed (304) */
  NJ_SOURCE_STALE = 4        /* a stale cache entry, as the policy, the request or the response allows */
} nj_source;

/** The verbosity of the log, from least to most. Members may be added. */
typedef enum nj_log_level {
  NJ_LOG_OFF = 0,
  NJ_LOG_ERROR = 1,
  NJ_LOG_WARNING = 2,
  NJ_LOG_INFO = 3, /* also one line for each call, and one for each retry */
  NJ_LOG_DEBUG = 4 /* also the start of each call, and rejected cookies */
} nj_log_level;

/** The effect of a certificate chain without a pinned key. Members may be added. */
typedef enum nj_pinning {
  NJ_PINNING_OFF = 0,    /* pins are not compared */
  NJ_PINNING_REPORT = 1, /* the mismatch is reported, and the connection is used */
  NJ_PINNING_ENFORCE = 2 /* the mismatch is reported, and the call fails with NJ_PIN_MISMATCH */
} nj_pinning;

/** The versions of IP for connections. Members may be added. */
typedef enum nj_ip_family {
  NJ_IP_ANY = 0, /* both, with fallback (RFC 8305) */
  NJ_IP_V4 = 4,
  NJ_IP_V6 = 6
} nj_ip_family;

/** The operation of an nj_store_request. Members may be added. */
typedef enum nj_store_operation {
  NJ_STORE_NONE = 0, /* nj_store_request_operation was called with NULL */
  NJ_STORE_LOAD = 1,
  NJ_STORE_SAVE = 2,
  NJ_STORE_DELETE = 3
} nj_store_operation;

/** The kinds of challenges. Members may be added. */
typedef enum nj_challenge_type {
  NJ_CHALLENGE_NONE = 0,               /* the value of a NULL handle */
  NJ_CHALLENGE_HTTP = 1,               /* a 401 response requires a user name and a password */
  NJ_CHALLENGE_CLIENT_CERTIFICATE = 2, /* the server requests a client certificate, and none is configured for it */
  NJ_CHALLENGE_SERVER_TRUST = 3        /* the server has sent a valid certificate chain, which can be rejected */
} nj_challenge_type;

/** "No limit", for every timeout and limit whose comment names NJ_NO_LIMIT. */
#define NJ_NO_LIMIT (0.0)

typedef struct nj_error nj_error;                           /* the reason of a failure; immutable */
typedef struct nj_config nj_config;                         /* the settings of a client */
typedef struct nj_client nj_client;                         /* connections, policies and the event loop that runs them */
typedef struct nj_request nj_request;                       /* a request, and the callbacks of its calls */
typedef struct nj_form nj_form;                             /* the parts of a multipart/form-data body */
typedef struct nj_response nj_response;                     /* a status, headers and a body; immutable */
typedef struct nj_canceller nj_canceller;                   /* cancels the calls of requests */
typedef struct nj_task nj_task;                             /* a call, login, logout or event stream */
typedef struct nj_batch nj_batch;                           /* many calls, a few at a time */
typedef struct nj_queue nj_queue;                           /* events for the thread that calls nj_queue_poll */
typedef struct nj_cookies nj_cookies;                       /* a cookie jar, which clients can share */
typedef struct nj_cookie_list nj_cookie_list;               /* a snapshot of a cookie jar; immutable */
typedef struct nj_cache nj_cache;                           /* an HTTP cache, which clients can share */
typedef struct nj_catalog nj_catalog;                       /* the endpoints of an API, by name */
typedef struct nj_graphql_schema nj_graphql_schema;         /* the types of a GraphQL service; immutable */
typedef struct nj_pagination nj_pagination;                 /* the rules for the next page of a list */
typedef struct nj_paginator nj_paginator;                   /* reads a list page by page */
typedef struct nj_page nj_page;                             /* one page of a list; immutable */
typedef struct nj_events nj_events;                         /* an event stream that the program reads */
typedef struct nj_download nj_download;                     /* a download to a file */
typedef struct nj_upload nj_upload;                         /* an upload of a file or a stream */
typedef struct nj_transfers nj_transfers;                   /* the background transfers of a journal */
typedef struct nj_transfer nj_transfer;                     /* a background transfer at one time; immutable */
typedef struct nj_transfer_list nj_transfer_list;           /* background transfers at one time; immutable */
typedef struct nj_outbox nj_outbox;                         /* writes that are sent until they are accepted */
typedef struct nj_outbox_entry nj_outbox_entry;             /* a write of an outbox at one time; immutable */
typedef struct nj_websocket nj_websocket;                   /* messages in both directions over one connection */
typedef struct nj_script nj_script;                         /* a Lua interpreter */
typedef struct nj_script_reply nj_script_reply;             /* the result of a deferred call of a host function */
typedef struct nj_network nj_network;                       /* the status of the network; immutable */
typedef struct nj_network_observer nj_network_observer;     /* reports changes of the network */
typedef struct nj_resource nj_resource;                     /* data of an API that a view shows */
typedef struct nj_resource_observer nj_resource_observer;   /* reports changes of a resource */
typedef struct nj_snapshot nj_snapshot;                     /* the state of a resource at one moment; immutable */
typedef struct nj_prepared_request nj_prepared_request;     /* borrowed: the request in a hook */
typedef struct nj_proposed_redirect nj_proposed_redirect;   /* borrowed: a redirect that is about to be followed */
typedef struct nj_failed_attempt nj_failed_attempt;         /* borrowed: an attempt that has failed */
typedef struct nj_login_prompt nj_login_prompt;             /* borrowed: the prompt of an interactive login */
typedef struct nj_pin_report nj_pin_report;                 /* borrowed: a certificate chain without a pinned key */
typedef struct nj_observation nj_observation;               /* borrowed: a step of a call */
typedef struct nj_event nj_event;                           /* borrowed: an event of an event stream */
typedef struct nj_message nj_message;                       /* borrowed: a message of a WebSocket */
typedef struct nj_script_call nj_script_call;               /* borrowed: a script's call of a host function */
typedef struct nj_token_request nj_token_request;           /* a decision request for a token */
typedef struct nj_challenge nj_challenge;                   /* a decision request for the challenge of a server */
typedef struct nj_address_request nj_address_request;       /* a decision request for the addresses of a host */
typedef struct nj_store_request nj_store_request;           /* a decision request for the record of a login */

/** Frees a text whose comment says that the caller frees it with nj_text_free. NULL is ignored. */
NJ_API void nj_text_free(char *text);

/**
 * Computes the SHA-256 digest of bytes (FIPS 180-4), for example to sign requests.
 *
 * @param bytes      may be NULL if `length` is 0
 * @param length     in bytes
 * @param out_digest receives 32 bytes
 * @return NJ_OK; NJ_INVALID_ARGUMENT if a pointer is NULL
 */
NJ_API nj_status nj_sha256(const void *bytes, size_t length, unsigned char *out_digest);

/**
 * Computes the HMAC-SHA256 of bytes (RFC 2104), for example to sign requests.
 *
 * @param key        of any length; may be NULL if `key_length` is 0
 * @param key_length in bytes
 * @param bytes      may be NULL if `length` is 0
 * @param length     in bytes
 * @param out_code   receives 32 bytes; may be `key` or `bytes`
 * @return NJ_OK; NJ_INVALID_ARGUMENT if a pointer is NULL
 */
NJ_API nj_status nj_hmac_sha256(const void *key, size_t key_length, const void *bytes, size_t length,
                                unsigned char *out_code);

/* ==================================================================================================================
 * nj_error: the reason of a failure
 *
 *   Created by   functions with an `out_error` parameter; nj_error_retain adds a reference
 *   Released by  nj_error_release
 *   Threads      any; an error is immutable
 * ================================================================================================================== */

/** Adds a reference to an error, for example one that a callback has borrowed. NULL if `error` is NULL. */
NJ_API nj_error *nj_error_retain(const nj_error *error);

/** Releases one reference of an error. NULL is ignored. */
NJ_API void nj_error_release(nj_error *error);

/**
 * Returns the error of the last function on this thread that failed and has no `out_error` parameter, such as a setter:
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/v1/articles");
 *     if (nj_request_set_retry_attempts(request, 1000) != NJ_OK) puts(nj_error_message(nj_error_last()));
 *     nj_response_release(nj_client_send(client, request, &error));
 *     nj_request_free(request);
 * @endcode
 *
 * Functions that succeed do not change the error.
 *
 * @return an error that is borrowed until the next such failure on this thread; NULL if no such function has failed on it
 */
NJ_API const nj_error *nj_error_last(void);

/** Returns the kind of the error, never NJ_OK. NJ_INVALID_ARGUMENT if `error` is NULL. */
NJ_API nj_status nj_error_kind(const nj_error *error);

/** Returns the step in which the call failed; NJ_PHASE_NONE if the error belongs to no step, or if `error` is NULL. */
NJ_API nj_phase nj_error_phase(const nj_error *error);

/** Returns the message for the developer: what failed, why, and what to do. NULL if `error` is NULL. */
NJ_API const char *nj_error_message(const nj_error *error);

/**
 * Returns a message for the end user, without technical terms. NULL if the kind is NJ_CANCELLED, or if `error` is
 * NULL.
 */
NJ_API const char *nj_error_user_message(const nj_error *error);

/**
 * Returns the URL of the call without user info and with secrets in its query masked. NULL if the error belongs to no
 * call.
 */
NJ_API const char *nj_error_url(const nj_error *error);

/** Returns the status of the response that caused the error. 0 if no response arrived, or if `error` is NULL. */
NJ_API int nj_error_http_status(const nj_error *error);

/**
 * Returns the response that caused the error, with its body. Borrowed. NULL if no response arrived, or if `error` is
 * NULL.
 */
NJ_API const nj_response *nj_error_response(const nj_error *error);

/**
 * Returns one member of the error that the server describes in its response. The library understands bodies of up to
 * 256 KiB: RFC 9457 problem details, the common JSON shapes ({"error": ...}, {"message": ...}, {"errors": [...]}), XML
 * error documents and plain text. Members that the body does not have are taken from WWW-Authenticate (RFC 6750
 * section 3) and X-Amzn-ErrorType.
 *
 *   title    the kind of problem
 *   message  the server's message about the problem
 *   detail   what happened in this occurrence of the problem
 *   code     an identifier for programs
 *   type     a URI or a word that names the kind of problem
 *
 * @return the text, truncated to 1000 characters, or NULL if the server does not send this member. The text is the
 *         server's: escape it before displaying it.
 */
NJ_API const char *nj_error_details_title(const nj_error *error);
NJ_API const char *nj_error_details_message(const nj_error *error);
NJ_API const char *nj_error_details_detail(const nj_error *error);
NJ_API const char *nj_error_details_code(const nj_error *error);
NJ_API const char *nj_error_details_type(const nj_error *error);

/**
 * Returns the number of fields that the server has rejected, at most 32. 0 if the server names none, or if `error` is
 * NULL.
 */
NJ_API size_t nj_error_details_field_count(const nj_error *error);

/** Returns the name of a rejected field. NULL for the request as a whole, or if `index` is out of range. */
NJ_API const char *nj_error_details_field_name_at(const nj_error *error, size_t index);

/**
 * Returns the server's message about a rejected field, or "***" if the name of the field suggests a secret. NULL if
 * `index` is out of range.
 */
NJ_API const char *nj_error_details_field_message_at(const nj_error *error, size_t index);

/** Reports whether the same request may succeed if it is sent again later. False if `error` is NULL. */
NJ_API bool nj_error_is_retryable(const nj_error *error);

/**
 * Reports whether the server may have processed the request. If true, a request that changes data must not be sent
 * again without an idempotency key. False if `error` is NULL.
 */
NJ_API bool nj_error_may_have_been_processed(const nj_error *error);

/**
 * Returns the seconds after which the call may be repeated: the server's Retry-After, or the wait for a limit or an open
 * circuit of the client. -1 if there is no such wait, or if `error` is NULL.
 */
NJ_API double nj_error_retry_after(const nj_error *error);

/**
 * Returns how many times the client tried to send the request, including redirects and retries. 0 if the call failed
 * before the first try, or if `error` is NULL.
 */
NJ_API size_t nj_error_attempts(const nj_error *error);

/** Returns the number of attempts that failed before the last one. 0 if `error` is NULL. */
NJ_API size_t nj_error_earlier_count(const nj_error *error);

/** Returns the error of an earlier attempt, the first one at index 0. Borrowed. NULL if `index` is out of range. */
NJ_API const nj_error *nj_error_earlier(const nj_error *error, size_t index);

/** Returns an explanation of the call for a person; see nj_response_explain. NULL if `error` is NULL. */
NJ_API const char *nj_error_explain(const nj_error *error);

/** Returns an explanation of the call for a program; see nj_response_explain_json. NULL if `error` is NULL. */
NJ_API const char *nj_error_explain_json(const nj_error *error, size_t *out_length);

/**
 * Returns the Idempotency-Key that was sent. NULL if none was sent. A server that supports idempotency keys processes
 * a request with the same key once, even if another process repeats it.
 */
NJ_API const char *nj_error_idempotency_key(const nj_error *error);

/**
 * Returns how many lines, JSON values or events were delivered before the call or the event stream failed. -1 for other
 * errors, for the failure of the first connection of an event stream, and if `error` is NULL.
 */
NJ_API int64_t nj_error_delivered(const nj_error *error);

/**
 * Returns the error code of the operating system, of a library (TLS, SQLite, zlib) or of a proxy. 0 if there is none,
 * or if `error` is NULL.
 */
NJ_API int nj_error_code(const nj_error *error);

/**
 * Returns the index of the failed request in its batch. -1 if the error does not belong to one request of a batch, and
 * if `error` is NULL.
 */
NJ_API int64_t nj_error_batch_index(const nj_error *error);

/**
 * Returns the TLS connection on which the last request was sent, as a JSON object; see nj_response_tls_json.
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return a text that lives as long as the error; NULL without TLS, if no request was sent, and if `error` is NULL
 */
NJ_API const char *nj_error_tls_json(const nj_error *error, size_t *out_length);

/** Returns the curl command line that sends the failed request; see nj_response_curl. NULL if no request was made. */
NJ_API const char *nj_error_curl(const nj_error *error, bool show_secrets);

/* ==================================================================================================================
 * nj_queue: events for the thread that calls nj_queue_poll
 *
 *   Constructor  nj_queue_new
 *   Destructor   nj_queue_free
 *   Threads      any
 *
 * Tasks, batches, paginators, event streams, WebSockets and the log deliver their events to a queue. nj_queue_poll calls
 * the host's callbacks for these events. Any number of clients may share a queue.
 * ================================================================================================================== */

/** Creates a queue. Never NULL. */
NJ_NEW nj_queue *nj_queue_new(void);

/**
 * Cancels the tasks, batches, page requests, event streams and WebSockets that deliver to the queue, runs their
 * remaining callbacks on this thread, frees the queue, and returns when no callback is left. If a callback of the same
 * queue calls nj_queue_free, the running nj_queue_poll cancels the work and runs the remaining callbacks before it
 * returns. NULL is ignored.
 */
NJ_API void nj_queue_free(nj_queue *queue);

/**
 * Returns a descriptor that is readable while an event is due. The program watches it with epoll, poll or an event
 * library and calls nj_queue_poll when it is readable.
 *
 * @return a descriptor that the queue owns: the program must neither read nor close it. -1 if the system has no
 *         descriptor left, if `queue` is NULL, and after fork.
 */
NJ_API int nj_queue_fd(nj_queue *queue);

/**
 * Calls the callbacks that are due, on this thread and in the order of their events. Only one thread at a time calls
 * the callbacks of a queue.
 *
 * nj_queue_poll starts no further callback after 1,024 events or 10 ms. The remaining events stay due: nj_queue_fd stays
 * readable, and the next nj_queue_poll returns without waiting.
 *
 * @param timeout seconds to wait for the first event. 0 and NaN: does not wait. Negative, or more than 3153600000:
 *                waits without a limit. NJ_NO_LIMIT has no meaning here.
 * @return the number of events handled; 0 if none arrived before the timeout, from inside a callback of the same queue,
 *         if `queue` is NULL, and after fork
 */
NJ_API size_t nj_queue_poll(nj_queue *queue, double timeout);

/** Makes a waiting nj_queue_poll return. If none is waiting, the next nj_queue_poll does not wait. */
NJ_API void nj_queue_wake(nj_queue *queue);

/* ==================================================================================================================
 * nj_config: the settings of a client
 *
 *   Constructor  nj_config_new
 *   Destructor   nj_config_free
 *   Threads      one at a time
 *
 * nj_client_new copies the configuration: changing it later does not change the client. One configuration can make
 * any number of clients. nj_config_merge_json sets options from JSON; most of them also have a setter. Further setters
 * are in the sections "Authentication", "Retries", "Limits", "Network", "Testing without a network", "nj_cookies",
 * "nj_cache" and "nj_catalog".
 * ================================================================================================================== */

/** Creates a configuration with the defaults that the setters below state. Never NULL. */
NJ_NEW nj_config *nj_config_new(void);

/** Frees a configuration. Clients that were made from it are not affected. NULL is ignored. */
NJ_API void nj_config_free(nj_config *config);

/**
 * Sets the options that a JSON object names. The other options keep their values. Lua's option table has the same keys:
 *
 *   key                          value
 *   ---------------------------  ------------------------------------------------------------------------------------
 *   base_url                     nj_config_set_base_url
 *   path_scope                   nj_config_set_path_scope
 *   headers                      an object of names and values: nj_config_set_header
 *   user_agent                   text; false sends none
 *   timeout                      seconds (total), or {"connect", "idle", "total"}; 0 and false: no limit
 *   max_body                     bytes, or "64KB", "20MB", "1GB" with a factor of 1024; 0 to "2GB"
 *   max_connections_per_host     1 to 65536
 *   idle_connection_lifetime     seconds
 *   redirect                     true, false, a number, or {"max", "allow_downgrade"}
 *   sensitive_headers            names of further headers that hold credentials. The library also recognizes names (such
 *                                as X-JWT, Api_Key and X-Passwd) and values (JSON Web Tokens, long random tokens)
 *   forward_headers              names of headers that are also sent to other origins: with redirects, next pages and
 *                                absolute URLs. By default, other origins get only headers that describe the client and
 *                                the requested response (such as Accept, User-Agent, Content-Type and Range), and a
 *                                Referer without path and query. Authorization, Proxy-Authorization, Cookie and Host
 *                                are rejected
 *   decompress                   true or false
 *   cookies                      true (in memory), false, a policy ("all", "first_party", "none"), or
 *                                {"file", "policy", "keep_session"}
 *   cache                        true (20 MiB in memory), false, or {"memory", "disk", "path", "policy",
 *                                "login_cookies"}
 *   journal                      a path: nj_config_set_journal
 *   shared_loop                  a name: nj_config_set_shared_loop
 *   ephemeral                    true or false
 *   proxy                        a URL, true (the environment), false (none), or {"url", "no_proxy"}
 *   unix_socket                  a path
 *   resolve                      a list of texts: nj_config_set_resolve
 *   ip_family                    "any", "ipv4" or "ipv6"
 *   local_address                an address: nj_config_set_local_address
 *   interface                    a name: nj_config_set_interface
 *   address_filter               "public" (denies "non_public"), false, or {"deny", "allow", "allow_proxies"}; without
 *                                "deny", "non_public" is denied: nj_config_set_address_filter
 *   https_only                   true, false, or {"except": ["localhost", "*.internal"]}: nj_config_set_https_only
 *   tls                          {"ca_file", "ca", "verify", "min_version", "max_version", "allow_weak",
 *                                "client_certificate", "hosts", "pins", "key_log_file"}: "ca" has the PEM text of
 *                                certificate authorities, in place of "ca_file". Versions are "1.2" and "1.3", by default
 *                                both. "allow_weak" lists weak algorithms that are accepted: "cbc", "rsa_key_exchange",
 *                                "sha1", "rsa_1024". "client_certificate" has names of files: {"file", "key", "password"}
 *                                (PEM) or {"pkcs12", "password"}; or contents: {"pem", "key_pem", "password"} or
 *                                {"pkcs12_base64", "password"}. It is sent only to the origin of the base URL, if the
 *                                server requests it. Changed files are read again. "key_log_file":
 *                                nj_config_set_key_log_file. "hosts" has "min_version", "max_version" and
 *                                "client_certificate" by host pattern ("example.com" or "*.example.com"). "pins" has a
 *                                list of at least two pins by host pattern, or {"pins", "report_only_after"}: a pin is
 *                                "sha256/" and the Base64 form of the SHA-256 digest of a public key (RFC 7469), and the
 *                                date is an RFC 3339 date or date and time. See nj_client_set_pinning
 *   lenient_line_endings         true or false
 *   http                         {"versions": ["1.1", "2"]}: nj_config_set_http_versions
 *   auth                         nj_config_set_auth_json
 *   retry                        true, false, a number of attempts, or {"attempts", "base", "cap", "max_wait",
 *                                "budget": {"reserve": 10, "successes_per_retry": 10}}
 *   respect_retry_after          true or false
 *   pause_header                 the name of a response header, or null: nj_config_set_pause_header
 *   wait_for_connectivity        seconds; 0 and false: calls do not wait
 *   allow_metered                true or false
 *   allow_constrained            true or false
 *   coalesce                     true or false
 *   rate_limit                   true, false, or {"requests", "per", "burst"}
 *   concurrency                  1 to 1000000; null: none
 *   circuit_breaker              true, false, or {"failure_rate", "minimum_calls", "window", "open_duration"}
 *   max_queued                   0 to 10000000
 *   limit_groups                 an object of group names, each with rate_limit, concurrency, circuit_breaker and
 *                                max_queued
 *   endpoints                    an object of endpoint names: nj_catalog_add_json
 *   openapi                      the path of an OpenAPI document, which nj_client_new reads
 *   openapi_folder               the folder whose files the document may refer to; the document's folder by default
 *   response_validation          the action for a response that does not match its endpoint: "off" (default), "warn" or
 *                                "error"
 *   mock, cassette, network      see "Testing without a network"
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key (the message names the nearest known key), or a value of the
 *         wrong type or out of range; NJ_DECODING if `json` is not JSON; NJ_INVALID_URL, NJ_INVALID_REQUEST and
 *         NJ_STORAGE as for the setters of the keys. On failure no option has changed.
 */
NJ_API nj_status nj_config_merge_json(nj_config *config, const char *json, size_t length, nj_error **out_error);

/**
 * Sets the URL to which relative request targets are joined. None by default.
 *
 * @param url an absolute http or https URL without a query, or the socket of a local daemon: "unix:/run/docker.sock"
 *            or "http+unix://%2Frun%2Fdocker.sock/v1.40". Only a base URL can name a socket. Host names outside ASCII
 *            are converted (IDNA 2008). A user name and password in the URL become Basic credentials for its origin.
 *            nj_client_new checks the URL and fails with NJ_INVALID_URL.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_base_url(nj_config *config, const char *url);

/**
 * Limits calls and redirects to one path of the base URL's origin and the paths below it. Other origins are not
 * limited. A call to another path fails with NJ_INVALID_REQUEST, and so does a path with dot segments (also encoded, or
 * after an encoded slash or a backslash).
 *
 * @param path an encoded path without a query, such as "/v1". NULL, the default: any path. nj_client_new fails with
 *             NJ_INVALID_ARGUMENT if there is a path scope and no base URL.
 * @return NJ_OK; NJ_INVALID_ARGUMENT if `path` is not an encoded path without a query
 */
NJ_API nj_status nj_config_set_path_scope(nj_config *config, const char *path);

/**
 * Sets a header for all requests that do not set a header of the same name. Replaces an earlier value of the header.
 * Headers that carry credentials are sent to the base URL's origin only. Without a base URL, nj_client_new fails with
 * NJ_INVALID_REQUEST for headers whose names denote credentials, such as Authorization.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_INVALID_REQUEST if the name or the value cannot be sent in a header, for
 *         example because it contains CR or LF
 */
NJ_API nj_status nj_config_set_header(nj_config *config, const char *name, const char *value);

/**
 * Sets the User-Agent header. "nightjar/" and the version by default. NULL: none.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_user_agent(nj_config *config, const char *user_agent);

/**
 * Sets a timeout of all calls.
 *
 *   timeout  default  limits
 *   -------  -------  -----------------------------------------------------------------------------------------
 *   connect  5 s      opening a connection, including TLS
 *   idle     30 s     the time without a byte in either direction, from the request to the end of the response
 *   total    300 s    the whole call with all its attempts and waits
 *
 * @param seconds 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @return NJ_OK; NJ_INVALID_ARGUMENT for NaN, negative and larger numbers
 */
NJ_API nj_status nj_config_set_connect_timeout(nj_config *config, double seconds);
NJ_API nj_status nj_config_set_idle_timeout(nj_config *config, double seconds);
NJ_API nj_status nj_config_set_total_timeout(nj_config *config, double seconds);

/**
 * Limits the size of a response body that is collected in memory. A call with a larger body fails with NJ_TOO_LARGE.
 * A body that is streamed with nj_request_on_body is not limited.
 *
 * @param bytes 0 to 2147483648 (2 GiB); 67108864 (64 MiB) by default. 0 accepts empty bodies only.
 * @return NJ_OK; NJ_INVALID_ARGUMENT for more than 2 GiB
 */
NJ_API nj_status nj_config_set_max_body(nj_config *config, size_t bytes);

/**
 * Limits the connections to one origin that are open at the same time. Further calls wait in the order of their
 * arrival.
 *
 * @param count 1 to 65536; 64 by default
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_max_connections_per_host(nj_config *config, size_t count);

/**
 * Sets the versions of HTTP that the client may use. With both, the default, TLS connections use HTTP/2 if the server
 * supports it (ALPN, RFC 7301), and other connections use HTTP/1.1. With "2" only, connections without TLS use HTTP/2
 * with prior knowledge (RFC 9113 section 3.3). Proxies that forward requests use HTTP/1.1.
 *
 * HTTP/2 needs libnghttp2, which is loaded at the first use. Without it, the client uses HTTP/1.1 and
 * nj_response_explain says so; with "2" only, calls fail with NJ_CONNECT. If loading has failed, the next client tries
 * again, because the process may only have lacked descriptors or memory. A client continues to use HTTP/1.1 for a host.
 *
 * @param versions "1.1", "2" or both, followed by NULL; copied
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an empty list
 */
NJ_API nj_status nj_config_set_http_versions(nj_config *config, const char *const *versions);

/**
 * Sets how long an unused connection is kept open.
 *
 * @param seconds 0 to 3153600000; 60 by default. NJ_NO_LIMIT has no meaning here: 0 closes a connection when it
 *                becomes unused.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_idle_connection_lifetime(nj_config *config, double seconds);

/**
 * Limits the redirects that one call follows. A further redirect fails the call with NJ_PROTOCOL. So does a loop: a
 * redirect to a URL that the call has already requested with the same method. A redirect that sets a cookie for the
 * client's jar or has a Retry-After may lead back to the same URL. The client waits before it follows a redirect with a
 * Retry-After (nj_config_set_respect_retry_after). The call fails at once with NJ_RATE_LIMITED if this wait exceeds
 * nj_config_set_retry_max_wait, and with NJ_TIMEOUT if it would end after the total timeout.
 *
 * @param count 0 to 100; 10 by default. 0: a redirect is returned like any other response, and fails the call unless
 *              its status is expected (nj_request_expect_status).
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_max_redirects(nj_config *config, size_t count);

/**
 * Sets whether a redirect may lead from https to http. False by default: such a redirect fails the call with
 * NJ_PROTOCOL.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_allow_downgrade(nj_config *config, bool allow);

/**
 * Sets whether the lines of a response head may end with LF in place of CRLF (RFC 9112 section 2.2). Some embedded
 * devices send this. False by default: such a response fails the call with NJ_PROTOCOL.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_lenient_line_endings(nj_config *config, bool lenient);

/**
 * Sets whether the client accepts compressed responses (gzip, deflate, br, zstd) and decompresses them. True by
 * default.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_decompress(nj_config *config, bool decompress);

/**
 * Sets the proxy for all origins except those of nj_config_set_no_proxy. Requests to https origins go through a
 * tunnel, and certificates are checked against the origin's name.
 *
 * By default, nj_client_new reads http_proxy, https_proxy, all_proxy and no_proxy from the environment, as curl does.
 * Requests to addresses of this machine also use the proxy, unless no_proxy names these addresses.
 *
 * @param url "http://user:password@host:3128", or the same with https, socks5 (this machine resolves the names) or
 *            socks5h (the proxy resolves them). NULL: no proxy.
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_INVALID_URL if `url` is not the URL of a proxy
 */
NJ_API nj_status nj_config_set_proxy(nj_config *config, const char *url);

/**
 * Sets the hosts that are reached without a proxy. Replaces the environment's no_proxy.
 *
 * @param hosts domain names, which include their subdomains, addresses and networks: "example.com,10.0.0.0/8,[::1]".
 *              "*": all hosts. NULL, the default: no hosts for a proxy that was set with nj_config_set_proxy;
 *              otherwise the hosts of the environment's no_proxy.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_no_proxy(nj_config *config, const char *hosts);

/**
 * Sets whether the proxy is read from the environment (true, the default) or no proxy is used (false). Replaces a
 * proxy that was set with nj_config_set_proxy.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_use_environment_proxy(nj_config *config, bool use);

/**
 * Connects to a unix socket for every URL. TLS is used for https. No proxy is used. Needed only for daemons that
 * require a Host header other than localhost; for other daemons, the base URL can name the socket.
 *
 * @param path an absolute path of at most 107 bytes. NULL, the default: none.
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_INVALID_URL if `path` is relative or too long
 */
NJ_API nj_status nj_config_set_unix_socket(nj_config *config, const char *path);

/**
 * Sets the addresses of hosts that are used instead of looking up their names, like curl's --resolve. The host of the URL
 * remains the name for TLS and for the Host header. The name of a host that a proxy resolves (http, https, socks5h) is
 * not affected. Replaces the entries that were set before.
 *
 * @param entries a list that ends with NULL; copied. Later entries replace earlier ones for the same host and port:
 *
 *                  HOST:PORT:ADDRESS[,ADDRESS]   the addresses of a host and a port; IPv6 addresses may be in brackets
 *                  *:PORT:ADDRESS[,ADDRESS]      the addresses of all hosts without an entry for this port
 *                  -HOST:PORT                    removes an earlier entry
 *
 *                NULL or an empty list, the default: all names are looked up.
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an invalid entry
 */
NJ_API nj_status nj_config_set_resolve(nj_config *config, const char *const *entries);

/**
 * Sets the version of IP that connections use. NJ_IP_ANY by default. A call to a host without an address of the version
 * fails with NJ_DNS.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_ip_family(nj_config *config, nj_ip_family family);

/**
 * Sets the local address of TCP connections. They then use the version of IP of this address. If this machine does not
 * have the address, calls fail with NJ_CONNECT. nj_client_new fails with NJ_INVALID_ARGUMENT if nj_config_set_ip_family
 * was called with the other version.
 *
 * @param address an IPv4 or IPv6 address. NULL, the default: the system chooses one.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_local_address(nj_config *config, const char *address);

/**
 * Sets the network interface that TCP connections use (SO_BINDTODEVICE, socket(7)). Older versions of Linux require
 * CAP_NET_RAW for this. Without it, connections use an address of the interface as their local address, unless
 * nj_config_set_local_address is also called, and the routes of the system choose the interface. If the interface does
 * not exist, calls fail with NJ_CONNECT.
 *
 * @param name 1 to 15 bytes, such as "eth0"; nj_client_new fails with NJ_INVALID_ARGUMENT for other lengths. NULL, the
 *             default: any interface.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_interface(nj_config *config, const char *name);

/**
 * Sets the addresses to which the client may connect, after names are resolved. Protects programs that fetch untrusted
 * URLs against requests to internal servers (server-side request forgery). The filter applies to each connection, also
 * for redirects, WebSockets, transfers, entries of nj_config_set_resolve and addresses in URLs. A connection uses only
 * the allowed addresses of a host. If there are none, the call fails with NJ_INVALID_REQUEST and is not retried.
 *
 * The lists contain networks ("10.0.0.0/8"), single addresses, and classes: "private" (RFC 1918, fc00::/7), "loopback",
 * "link_local" (169.254.0.0/16, fe80::/10), "shared" (100.64.0.0/10), "unspecified" (0.0.0.0/8, ::), "multicast",
 * "documentation", "reserved" (all others that are not global unicast addresses), and "non_public" for all of these. An
 * IPv4 address in an IPv6 address (IPv4-mapped, NAT64, 6to4 and others) is also checked.
 *
 * nj_error_explain and nj_response_explain name the denied addresses of a new connection and the reasons: the decision
 * "addresses_denied" of nj_error_explain_json has "host", "by" ("address_filter", or "on_addresses" for
 * nj_config_on_addresses), "candidates" (a number) and "denied", an array of at most 64 objects with "address" and,
 * for the address filter, "because" (a class or a network).
 *
 * The filter does not apply to the address of a proxy. A proxy of the type socks5 receives allowed addresses. The other
 * proxies resolve names themselves, so requests to names through them fail with NJ_INVALID_REQUEST, unless
 * `allow_proxies` is true. Requests to unix sockets fail with NJ_INVALID_REQUEST. nj_client_new fails with
 * NJ_INVALID_ARGUMENT if nj_config_set_unix_socket was called.
 *
 * @param deny          a list that ends with NULL, usually {"non_public", NULL}; copied. NULL, the default: no filter.
 * @param allow         exceptions, a list that ends with NULL; copied. NULL: none.
 * @param allow_proxies whether requests to names may go through proxies that resolve them; the address is not checked
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an invalid rule
 */
NJ_API nj_status nj_config_set_address_filter(nj_config *config, const char *const *deny, const char *const *allow,
                                              bool allow_proxies);

/**
 * Resolves a name, or decides about the addresses of a host to which the client is about to open a connection: see
 * nj_config_set_resolver and nj_config_on_addresses. The callback responds at once with
 * nj_address_request_respond, nj_address_request_use_default or nj_address_request_fail, or keeps the request with
 * nj_address_request_retain and responds later, from any thread. If the last owner releases the request without a
 * response, the waiting calls fail as after nj_address_request_fail.
 *
 * Runs inside the first nj_queue_poll or blocking function that runs for one of the calls that wait for the connection.
 * Requests that the client sends itself, such as token requests and the refresh of cached responses, belong to no call.
 * For them, the callback runs in nj_queue_poll of the queue that was set together with it, or inside nj_queue_poll or a
 * blocking function that runs for any call or operation of the client that is in flight. If there is no such queue, call
 * or operation, the request fails with NJ_INVALID_REQUEST.
 *
 * While a call waits, its total and its connect timeout run (nj_config_set_connect_timeout). They also end the wait with
 * NJ_TIMEOUT if no thread polls the queues, or if a queue has been freed. Retries call the callback again.
 *
 * @param request borrowed until the callback returns
 */
typedef void (*nj_address_fn)(void *context, nj_address_request *request);

/**
 * Sets a callback that resolves the names of servers and proxies in place of the system. nj_address_request_count is
 * 0, and the callback responds with the addresses of nj_address_request_host. The client caches them for 60 seconds,
 * or until a connection fails or the network changes. The callback is not called for addresses, entries of
 * nj_config_set_resolve, unix sockets, and names that a proxy resolves. One request serves all connections to the same
 * origin that wait for the name. An empty response and nj_address_request_fail fail the calls with NJ_DNS.
 *
 * @param queue   for requests that belong to no call (nj_address_fn); the clients keep it alive. NULL: none. Ignored if
 *                `resolve` is NULL.
 * @param resolve NULL, the default: the system resolves names
 * @param context passed to `resolve` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_set_resolver(nj_config *config, nj_queue *queue, nj_address_fn resolve, void *context);

/**
 * Sets a callback that decides, for each connection, which addresses of the server may be used. It is called after the
 * name is resolved and the rules of nj_config_set_address_filter have been applied. It responds with those addresses of
 * the request that it allows. An empty response and nj_address_request_fail fail the calls with NJ_INVALID_REQUEST, which
 * is not retried.
 *
 * The callback belongs to the address filter: without nj_config_set_address_filter, the filter has no rules.
 * Therefore, requests to unix sockets fail, and requests to names through a proxy that resolves them fail unless
 * `allow_proxies` is true: nj_config_set_address_filter(config, (const char *[]){NULL}, NULL, true). The callback is not
 * called for the addresses of proxies. It is called for an address in a URL, also if a proxy connects to this address. It
 * is not called for later requests on an open connection.
 *
 * @param queue   for requests that belong to no call (nj_address_fn); the clients keep it alive. NULL: none. Ignored if
 *                `decide` is NULL.
 * @param decide  NULL, the default: all addresses that the rules allow
 * @param context passed to `decide` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_on_addresses(nj_config *config, nj_queue *queue, nj_address_fn decide, void *context);

/**
 * Sets whether calls to http and ws URLs fail with NJ_INVALID_REQUEST before a connection is opened, also for redirects,
 * pages, catalogs and logins. False by default. Proxies and unix sockets are not affected.
 *
 * @param except host names, addresses, and wildcards such as "*.internal", to which http and ws URLs are allowed; a list
 *               that ends with NULL; copied. NULL: none. A wildcard matches names with exactly one more label.
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an invalid pattern
 */
NJ_API nj_status nj_config_set_https_only(nj_config *config, bool https_only, const char *const *except);

/**
 * Sets a PEM file of certificate authorities that are trusted instead of the system's.
 *
 * @param path nj_client_new reads the file, and fails with NJ_TLS if the file cannot be read
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_ca_file(nj_config *config, const char *path);

/**
 * Sets the certificate authorities that are trusted instead of the system's, as PEM text. nj_client_new fails with NJ_TLS
 * if the text is invalid, and with NJ_INVALID_ARGUMENT if nj_config_set_ca_file was also called.
 *
 * @param pem    copied; need not end with NUL
 * @param length bytes of `pem`, at most 16 MiB
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_ca_pem(nj_config *config, const char *pem, size_t length);

/**
 * Sets the client certificate for the origin of the base URL, as PEM text. The server receives the certificate only if
 * it requests one. Replaces a certificate that was set before. nj_client_new fails with NJ_TLS if a text is invalid, the
 * password is wrong, or the key does not match the certificate. The option tls.hosts of nj_config_merge_json sets
 * certificates for other hosts.
 *
 * @param certificates        the certificate and then the intermediate certificates; copied
 * @param certificates_length bytes of `certificates`, at most 16 MiB
 * @param key                 the private key; copied. NULL: `certificates` also contains the key.
 * @param key_length          bytes of `key`, at most 16 MiB; ignored if `key` is NULL
 * @param password            the password of an encrypted key. NULL: none.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_client_certificate_pem(nj_config *config, const char *certificates,
                                                      size_t certificates_length, const char *key, size_t key_length,
                                                      const char *password);

/**
 * Sets the client certificate for the origin of the base URL, as a PKCS #12 archive (RFC 7292) that contains the private
 * key. See nj_config_set_client_certificate_pem.
 *
 * @param archive  copied
 * @param length   bytes of `archive`, at most 16 MiB
 * @param password the password of the archive. NULL: none.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_client_certificate_pkcs12(nj_config *config, const void *archive, size_t length,
                                                         const char *password);

/**
 * Sets a file to which clients append the keys of their TLS connections, in the NSS key log format. Programs such as
 * Wireshark use the file to decrypt recorded traffic. Anyone who can read the file can decrypt the connections, so use it
 * only to debug. The environment variable SSLKEYLOGFILE has no effect.
 *
 * nj_client_new creates the file with mode 0600 if it does not exist, and fails with NJ_STORAGE if it cannot be opened.
 * The client logs one warning when it writes the first keys. A failed write is logged and does not affect the connection.
 *
 * @param path NULL, the default: keys are not written
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_key_log_file(nj_config *config, const char *path);

/**
 * Sets whether certificates are verified. True by default. If false, the client accepts any certificate, and attackers
 * can intercept its connections. The client then logs one warning, and the decisions of calls that are sent over TLS
 * contain unverified_tls.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_verify_certificates(nj_config *config, bool verify);

/**
 * Receives the report of a certificate chain that is valid but contains none of the host's pinned keys.
 *
 * @param report borrowed until the callback returns
 */
typedef void (*nj_pin_mismatch_fn)(void *context, const nj_pin_report *report);

/**
 * Sets the callback for certificate chains without a pinned key (the option tls.pins of nj_config_merge_json). The
 * client also writes each mismatch to its log. While 64 reports wait in the queue, further reports are discarded.
 *
 * @param queue    the queue on which `mismatch` is called; the clients keep it alive. Ignored if `mismatch` is NULL.
 * @param mismatch called from nj_queue_poll. NULL, the default: none.
 * @param context  passed to `mismatch` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_on_pin_mismatch(nj_config *config, nj_queue *queue, nj_pin_mismatch_fn mismatch,
                                               void *context);

/** Returns the name or the address of the host. NULL if `report` is NULL. */
NJ_API const char *nj_pin_report_host(const nj_pin_report *report);

/** Reports whether the connection was closed. False if the mismatch was only reported, and if `report` is NULL. */
NJ_API bool nj_pin_report_is_enforced(const nj_pin_report *report);

/** Returns the number of pins that are configured for the host. 0 if `report` is NULL. */
NJ_API size_t nj_pin_report_expected_count(const nj_pin_report *report);

/**
 * Returns a pin that is configured for the host, such as "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=". NULL
 * beyond the last one, or if `report` is NULL.
 */
NJ_API const char *nj_pin_report_expected_at(const nj_pin_report *report, size_t index);

/** Returns the number of certificates in the verified chain. 0 if `report` is NULL. */
NJ_API size_t nj_pin_report_served_count(const nj_pin_report *report);

/**
 * Returns the pin of a certificate in the verified chain. The first certificate is the server's, the last one is the
 * trusted authority's. NULL beyond the last one, or if `report` is NULL.
 */
NJ_API const char *nj_pin_report_served_at(const nj_pin_report *report, size_t index);

/* --- The values of a configuration. A text is borrowed until the configuration is changed or freed. --- */

/** Returns the base URL. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_base_url(const nj_config *config);

/** Returns the path of nj_config_set_path_scope. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_path_scope(const nj_config *config);

/** Returns the value of a header of every request. Secrets are not masked. NULL: not set, or an argument is NULL. */
NJ_API const char *nj_config_header(const nj_config *config, const char *name);

/** Returns the number of headers of every request. Repeated names count separately. 0 if `config` is NULL. */
NJ_API size_t nj_config_header_count(const nj_config *config);

/** Returns the name or the value of a header of every request, in the order of setting. NULL beyond the last one. */
NJ_API const char *nj_config_header_name_at(const nj_config *config, size_t index);
NJ_API const char *nj_config_header_value_at(const nj_config *config, size_t index);

/** Returns the User-Agent. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_user_agent(const nj_config *config);

/** Returns the path of the Unix socket. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_unix_socket(const nj_config *config);

/** Returns the address of nj_config_set_local_address. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_local_address(const nj_config *config);

/** Returns the network interface of nj_config_set_interface. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_interface(const nj_config *config);

/** Returns the name of nj_config_set_shared_loop. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_shared_loop(const nj_config *config);

/** Returns the path of nj_config_set_journal. NULL: the default, or `config` is NULL. */
NJ_API const char *nj_config_journal(const nj_config *config);

/** Returns the timeout for connecting in seconds. NJ_NO_LIMIT (0): none. -1 if `config` is NULL. */
NJ_API double nj_config_connect_timeout(const nj_config *config);

/** Returns the idle timeout in seconds. NJ_NO_LIMIT (0): none. -1 if `config` is NULL. */
NJ_API double nj_config_idle_timeout(const nj_config *config);

/** Returns the timeout of whole calls in seconds. NJ_NO_LIMIT (0): none. -1 if `config` is NULL. */
NJ_API double nj_config_total_timeout(const nj_config *config);

/** Returns how long an unused connection is kept open, in seconds. -1 if `config` is NULL. */
NJ_API double nj_config_idle_connection_lifetime(const nj_config *config);

/** Returns the maximum size of a collected body in bytes. 0 if `config` is NULL. */
NJ_API size_t nj_config_max_body(const nj_config *config);

/** Returns the maximum number of connections to one origin. 0 if `config` is NULL. */
NJ_API size_t nj_config_max_connections_per_host(const nj_config *config);

/** Returns the maximum number of redirects of a call. 0: none is followed, or `config` is NULL. */
NJ_API size_t nj_config_max_redirects(const nj_config *config);

/** Returns the maximum number of attempts of a call, the first included. 0 if `config` is NULL. */
NJ_API size_t nj_config_retry_attempts(const nj_config *config);

/** Reports whether compressed responses are requested and decompressed. False if `config` is NULL. */
NJ_API bool nj_config_decompress(const nj_config *config);

/** Reports whether identical calls share one exchange (nj_config_set_coalesce). False if `config` is NULL. */
NJ_API bool nj_config_coalesce(const nj_config *config);

/** Reports whether clients write nothing to disk. False if `config` is NULL. */
NJ_API bool nj_config_ephemeral(const nj_config *config);

/** Reports whether the certificates of servers are verified. False if `config` is NULL. */
NJ_API bool nj_config_verify_certificates(const nj_config *config);

/** Returns the path of nj_config_set_ca_file. NULL: none, or `config` is NULL. */
NJ_API const char *nj_config_ca_file(const nj_config *config);

/** Returns whether nj_config_set_https_only is on. false if `config` is NULL. */
NJ_API bool nj_config_https_only(const nj_config *config);

/** Returns whether redirects from https to http are followed. false if `config` is NULL. */
NJ_API bool nj_config_allow_downgrade(const nj_config *config);

/** Returns the family of nj_config_set_ip_family. NJ_IP_ANY if `config` is NULL. */
NJ_API nj_ip_family nj_config_ip_family(const nj_config *config);

/**
 * Sets the name of the event loop that a client shares with the other clients of this process that have the same name.
 * A shared loop is for programs with many clients, such as one for each user. Its clients use one thread for the network,
 * one for name lookups and one for files, and no descriptor while they have no connection. They share no connections,
 * cookies, caches or logins. A shared loop uses at most one processor core, and ends with its last client. The lookups of
 * its clients run one after the other, so a name server that does not respond delays all of them; see
 * nj_config_set_resolve. Work with files also runs one after the other: bodies from files, token stores, client
 * certificates, checks of large responses, and transfers. A client with large transfers needs a loop of its own.
 *
 * A cache on disk and a cookie file have threads and descriptors of their own, also in a client with a shared loop.
 * Clients with the same certificate authorities always share the loaded certificates.
 *
 * @param name a text that is not empty, for example "tenants"; NULL, the default: each client has a loop of its own
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_shared_loop(nj_config *config, const char *name);

/**
 * Sets whether clients are ephemeral: nj_client_new then fails with NJ_INVALID_ARGUMENT for a cookie file, a cache on
 * disk, a token store in a file (also SQLite), a key log file, a journal or a cassette that records. False by default.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_ephemeral(nj_config *config, bool ephemeral);

/**
 * Sets the file that keeps the state and the results of transfers with an id; see nj_download and nj_upload. It is
 * created with its folder, readable only by its owner. Any number of clients and processes may share it.
 *
 * @param path NULL, the default: nightjar/journal.db in XDG_STATE_HOME, or in ~/.local/state. nj_client_new fails with
 *             NJ_INVALID_ARGUMENT if an ephemeral client has a path.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_journal(nj_config *config, const char *path);

/* --- Log --- */

/**
 * Receives one line of the log. Secrets are masked.
 *
 * @param message borrowed until the callback returns
 */
typedef void (*nj_log_fn)(void *context, nj_log_level level, const char *message);

/**
 * Sets the callback for the log of the clients. By default, clients do not log.
 *
 * A queue that is not polled holds at most 1,024 lines, and at most 1 MiB, of this log. Further lines are dropped. A
 * warning with the number of dropped lines precedes the next line that is delivered.
 *
 * @param level   the most verbose level that is logged; NJ_LOG_OFF: nothing is logged
 * @param queue   the queue on which `log` is called; the clients keep it alive
 * @param log     called from nj_queue_poll
 * @param context passed to `log` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_set_log(nj_config *config, nj_log_level level, nj_queue *queue, nj_log_fn log,
                                   void *context);

/* --- Observers --- */

/**
 * A step of a call. The first step of each call is NJ_STEP_STARTED, and the last one is NJ_STEP_ENDED. The steps between
 * them occur in the order of the client's work, and again after a redirect, a retry or a challenge. Members may be added.
 */
typedef enum nj_step {
  NJ_STEP_NONE = 0,       /* the value of a NULL handle */
  NJ_STEP_STARTED = 1,    /* the client has started the call: method, url */
  NJ_STEP_RESOLVED = 2,   /* the addresses of a host that was looked up are known: host, duration */
  NJ_STEP_CONNECTED = 3,  /* the connection that the call waits for is connected: address, duration */
  NJ_STEP_SECURED = 4,    /* the TLS handshake of this connection is complete: duration */
  NJ_STEP_SENT = 5,       /* the client sends the request: address, http_version, reused_connection */
  NJ_STEP_FIRST_BYTE = 6, /* the head of the response has arrived: http_status */
  NJ_STEP_REDIRECTED = 7, /* the client follows a redirect: http_status, url */
  NJ_STEP_RETRIED = 8,    /* the client retries the request: error; duration is the wait before the next attempt */
  NJ_STEP_CACHE_HIT = 9,  /* the cache has responded: source; duration is the age of the entry */
  NJ_STEP_ENDED = 10      /* the call has ended: error, http_status, source */
} nj_step;

/**
 * Receives a step of a call.
 *
 * @param observation borrowed until the callback returns
 */
typedef void (*nj_observer_fn)(void *context, const nj_observation *observation);

/**
 * Sets the callback that receives the steps of each call. By default, clients have no observer. The steps are
 * reported while a call runs, also for calls that fail. A token request is a call of its own. An exchange that several
 * calls share reports its steps for the call that has started it; the other calls only start and end.
 *
 * The steps of a client are delivered in the order in which they occur, and NJ_STEP_ENDED before the completion of a call
 * on the same queue. A queue that is not polled holds at most 4,096 steps. Further steps replace the oldest ones, and
 * NJ_STEP_ENDED is dropped last; see nj_observation_dropped.
 *
 * @param queue    the queue on which `observer` is called; the clients keep it alive
 * @param observer called from nj_queue_poll. NULL, the default: none.
 * @param context  passed to `observer` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_set_observer(nj_config *config, nj_queue *queue, nj_observer_fn observer, void *context);

/** Returns the kind of a step. NJ_STEP_NONE if `observation` is NULL. */
NJ_API nj_step nj_observation_step(const nj_observation *observation);

/** Returns the number of the call, as nj_task_call_id. 0 if `observation` is NULL. */
NJ_API int64_t nj_observation_call_id(const nj_observation *observation);

/** Returns the seconds since the start of the call. -1 if `observation` is NULL. */
NJ_API double nj_observation_time(const nj_observation *observation);

/**
 * Returns how many requests the call had started to send, including redirects and retries. A request counts from the time
 * at which it waits for a connection. 0 before the first request, and if `observation` is NULL.
 */
NJ_API size_t nj_observation_attempt(const nj_observation *observation);

/** Returns the method of NJ_STEP_STARTED. NULL for other steps, and if `observation` is NULL. */
NJ_API const char *nj_observation_method(const nj_observation *observation);

/**
 * Returns the URL of NJ_STEP_STARTED, or the new URL of NJ_STEP_REDIRECTED, without user info and with secrets in its
 * query masked. NULL for other steps, and if `observation` is NULL.
 */
NJ_API const char *nj_observation_url(const nj_observation *observation);

/** Returns the host of NJ_STEP_RESOLVED: the server or a proxy. NULL for other steps, and if `observation` is NULL. */
NJ_API const char *nj_observation_host(const nj_observation *observation);

/**
 * Returns the address and the port of NJ_STEP_CONNECTED and NJ_STEP_SENT, such as "127.0.0.1:8080", or the path of a Unix
 * socket. NULL for other steps, for a mock, and if `observation` is NULL.
 */
NJ_API const char *nj_observation_address(const nj_observation *observation);

/**
 * Returns the version of HTTP of NJ_STEP_SENT, as nj_response_http_version. 0 for other steps, for a mock, and if
 * `observation` is NULL.
 */
NJ_API int nj_observation_http_version(const nj_observation *observation);

/**
 * Reports whether the request of NJ_STEP_SENT uses a connection that another exchange has used. False for other steps,
 * and if `observation` is NULL.
 */
NJ_API bool nj_observation_reused_connection(const nj_observation *observation);

/**
 * Returns the duration of NJ_STEP_RESOLVED, NJ_STEP_CONNECTED and NJ_STEP_SECURED, the wait of NJ_STEP_RETRIED or the age
 * of NJ_STEP_CACHE_HIT, in seconds. -1 for other steps, and if `observation` is NULL.
 */
NJ_API double nj_observation_duration(const nj_observation *observation);

/** Returns the status of the response. 0 if the step has none, and if `observation` is NULL. */
NJ_API int nj_observation_http_status(const nj_observation *observation);

/**
 * Returns where the response of NJ_STEP_CACHE_HIT or NJ_STEP_ENDED came from: NJ_SOURCE_CACHE for a fresh cache entry,
 * NJ_SOURCE_STALE or NJ_SOURCE_REVALIDATED. NJ_SOURCE_NETWORK for other steps, and if `observation` is NULL.
 */
NJ_API nj_source nj_observation_source(const nj_observation *observation);

/**
 * Returns the kind of the error of NJ_STEP_RETRIED, or of NJ_STEP_ENDED for a failed call. NJ_OK for other steps, and if
 * `observation` is NULL.
 */
NJ_API nj_status nj_observation_failure(const nj_observation *observation);

/**
 * Returns the number of steps that were dropped before this one, because the queue was not polled. 0 if `observation` is
 * NULL.
 */
NJ_API size_t nj_observation_dropped(const nj_observation *observation);

/* --- Hooks --- */

/**
 * Runs before each call and may change its request. Runs inside nj_queue_poll of the call's queue or inside the
 * blocking call. The call waits for the hook, at most until the total timeout expires.
 *
 * @param request borrowed until the hook returns
 * @return NJ_OK: the call continues. Any other status: the call fails with this status, and nothing is sent. A number
 *         that is not a status fails the call with NJ_CANCELLED.
 */
typedef nj_status (*nj_request_hook_fn)(void *context, nj_prepared_request *request);

/**
 * Sets the hook before each call.
 *
 * @param before  NULL, the default: none
 * @param context passed to `before` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_on_request(nj_config *config, nj_request_hook_fn before, void *context);

/**
 * Runs after each call, on the thread that receives the call's result and before the result is delivered. The arguments
 * are borrowed until the hook returns.
 *
 * @param request  the request with the headers that the before hook has set; it cannot be changed
 * @param response NULL if the call has failed
 * @param error    NULL if the call has succeeded
 */
typedef void (*nj_response_hook_fn)(void *context, const nj_prepared_request *request, const nj_response *response,
                                    const nj_error *error);

/**
 * Sets the hook after each call.
 *
 * @param after   NULL, the default: none
 * @param context passed to `after` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_on_response(nj_config *config, nj_response_hook_fn after, void *context);

/**
 * Decides whether the cache stores a response that it could store. Runs when the response is complete, inside
 * nj_queue_poll of the call's queue or inside the blocking call. The call waits for the decision, at most until the total
 * timeout expires; without a decision, the response is not stored. Not called for 304 responses, which update an entry,
 * and for nj_client_cache_put.
 *
 * @param request  the request with the headers that the before hook has set; it cannot be changed
 * @param response also a redirect; its body is empty if the caller receives it in parts
 * @return true: the response is stored. False: it is not stored, and older entries for the request are removed.
 */
typedef bool (*nj_store_hook_fn)(void *context, const nj_prepared_request *request, const nj_response *response);

/**
 * Sets the hook that decides whether responses are stored. With this hook, a background refresh stores its response only
 * if the request has the callback of nj_request_on_refresh. Otherwise the refresh removes the old entry, and the next
 * call sends a request.
 *
 * @param store   NULL, the default: each response that may be stored is stored
 * @param context passed to `store` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_on_store(nj_config *config, nj_store_hook_fn store, void *context);

/* nj_prepared_request: the request in a hook. Borrowed until the hook returns. Must be used only on the thread that runs
 * the hook. Texts and bytes that the functions return are valid until the hook returns. */

/**
 * Returns the number of the call. Numbers start at 1 and are unique in the process. The hooks before and after a call,
 * nj_task_call_id and nj_observation_call_id return the same number. 0 if `request` is NULL.
 */
NJ_API int64_t nj_prepared_request_call_id(const nj_prepared_request *request);

/** Returns the method. NULL if `request` is NULL. */
NJ_API const char *nj_prepared_request_method(const nj_prepared_request *request);

/** Returns the URL. Secrets in its query are not masked. NULL if `request` is NULL. */
NJ_API const char *nj_prepared_request_url(const nj_prepared_request *request);

/**
 * Returns the value of the first header of a name. Secrets are not masked. NULL if there is no such header, or if
 * `request` is NULL.
 */
NJ_API const char *nj_prepared_request_header(const nj_prepared_request *request, const char *name);

/**
 * Returns the number of headers, including Host and Content-Length. Some headers are added later: the cookies of the jar,
 * the credentials of logins and the conditions of the cache. 0 if `request` is NULL.
 */
NJ_API size_t nj_prepared_request_header_count(const nj_prepared_request *request);

/** Returns the name or the value of a header, in the order of sending. NULL if `index` is out of range. */
NJ_API const char *nj_prepared_request_header_name_at(const nj_prepared_request *request, size_t index);
NJ_API const char *nj_prepared_request_header_value_at(const nj_prepared_request *request, size_t index);

/**
 * Returns the body as it is sent, without NUL at the end. For a request without a body, returns a pointer that is not
 * NULL, and the length 0.
 *
 * @param out_length receives the length in bytes; may be NULL
 * @return NULL, with a length of 0, for a body that is supplied or read while it is sent (a stream, a file or a multipart
 *         form), or if `request` is NULL
 */
NJ_API const void *nj_prepared_request_body(const nj_prepared_request *request, size_t *out_length);

/**
 * Returns the SHA-256 digest of the body, 64 lower-case hexadecimal digits. A request without a body has the digest of no
 * bytes. Computed in each call. NULL if nj_prepared_request_body returns NULL.
 */
NJ_API const char *nj_prepared_request_body_sha256(const nj_prepared_request *request);

/**
 * Replaces all headers of a name by one value.
 *
 * @param value NULL: removes the headers of this name
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also in an after hook; NJ_INVALID_REQUEST if the name or the value cannot be sent
 *         in a header, or the header is one that only the client sets (Content-Length, Transfer-Encoding and others)
 */
NJ_API nj_status nj_prepared_request_set_header(nj_prepared_request *request, const char *name, const char *value);

/**
 * Sets the partition of the cache for this call, in place of nj_request_set_cache_partition.
 *
 * @param partition copied; NULL: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_prepared_request_set_cache_partition(nj_prepared_request *request, const char *partition);

/* ==================================================================================================================
 * Authentication
 *
 * A client has one credential, or one for each security scheme (OpenAPI), by name. Each setter of this section replaces
 * the credential that was set before, unless its comment says otherwise. Credentials are sent only to the base URL's
 * origin, also after redirects. nj_client_new therefore fails with NJ_INVALID_ARGUMENT if there are credentials and no
 * base URL. It also fails if the headers or the base URL have a second credential. A request with its own Authorization
 * header keeps that header. Errors, log lines and explanations contain no secret.
 * ================================================================================================================== */

/**
 * Sets a bearer token (RFC 6750), which is sent without encoding.
 *
 * @param token nj_client_new fails with NJ_INVALID_ARGUMENT if `token` cannot be sent in a header
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_bearer(nj_config *config, const char *token);

/**
 * Sets a user name and a password for Basic authentication (RFC 7617). They are sent with each request, without a
 * challenge.
 *
 * @param user nj_client_new fails with NJ_INVALID_ARGUMENT if `user` contains a colon
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_basic_auth(nj_config *config, const char *user, const char *password);

/**
 * Sets a user name and a password for Digest authentication (RFC 7616; SHA-256, SHA-512/256 and MD5, as the server
 * chooses). If the server proves that it has the password (rspauth in Authentication-Info, with qop=auth) and the
 * proof is wrong, the call fails with NJ_PROTOCOL.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_digest_auth(nj_config *config, const char *user, const char *password);

/**
 * Sets an API key that is sent in a header, in the query or in a cookie of each request. The key is masked whenever
 * a URL or a header is shown. The cookie is added to the client's cookies and replaces one of the same name; a request
 * with its own Cookie header is sent without this cookie.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an empty key and for a name or key that cannot be sent in that place
 */
NJ_API nj_status nj_config_set_api_key_header(nj_config *config, const char *name, const char *key);
NJ_API nj_status nj_config_set_api_key_query(nj_config *config, const char *name, const char *key);
NJ_API nj_status nj_config_set_api_key_cookie(nj_config *config, const char *name, const char *key);

/**
 * Sets credentials from JSON, as the option `auth` of nj_config_merge_json does: false for none, or an object with a
 * type.
 *
 *   type     members
 *   -------  --------------------------------------------------------------------------------------------------------
 *   bearer   token
 *   basic    user, password
 *   digest   user, password
 *   api_key  key; header (a name, X-Api-Key by default), query or cookie (a name); prefix (before the key in a header)
 *   oauth2   RFC 6749: token_url, client_id, client_secret, client_auth ("basic", "post"), scope, issuer (RFC 9207),
 *            and grant: "refresh_token", "client_credentials", "device_code" with device_url, or "authorization_code"
 *            with authorize_url
 *   login    a login call of the API: url, method, json or form; JSON Pointers (RFC 6901) into its response:
 *            access_token_pointer, refresh_token_pointer, lifetime or expiry (a date), token_type; refresh:
 *            {url, method, json or form, token}, where token is the place of the refresh token. Without refresh, the
 *            client logs in again
 *
 *     {"type": "oauth2", "token_url": "/oauth/token", "client_id": "app", "client_secret": "...",
 *      "grant": "client_credentials", "store": "file:/home/me/.config/app/login"}
 *     {"type": "login", "url": "/auth/login", "json": {"email": "...", "password": "..."},
 *      "access_token_pointer": "/access_token", "refresh_token_pointer": "/refresh_token", "lifetime": "/expires_in",
 *      "refresh": {"url": "/auth/refresh"}}
 *
 * Tokens of oauth2 and login expire. The client refreshes a token shortly before it expires and when a server rejects
 * it: once for all waiting calls of the client, and once for all clients and processes with the same store. A call
 * that was rejected (401) is sent once more, unless its body cannot be repeated. A second rejection is NJ_UNAUTHORIZED.
 * Members of both types:
 *
 *   member           default     meaning
 *   ---------------  ----------  ------------------------------------------------------------------------------------
 *   store            "memory"    "memory", "file:PATH", "sqlite:PATH", "keyring:SERVICE", "host:KEY"
 *                                (nj_config_set_token_store), or an object of file, sqlite or keyring, and account. In a
 *                                file or a database, key_file (a path) or key_env (an environment variable) names the
 *                                key that encrypts the token (AES-GCM)
 *   access_token,    none        the first token, if the store has none
 *   refresh_token,
 *   expires_in
 *   lifetime_unit    "seconds"   the unit of the lifetime in the responses of the server: "seconds" or "milliseconds"
 *   skew             30 s        how long before its expiry a token is refreshed, at most a quarter of its lifetime
 *   refresh_timeout  30 s        the timeout of a refresh; 0: no limit
 *   refresh_limit    5           the largest number of refreshes in 30 seconds. Calls that need a further refresh use
 *                                the current token, or fail with NJ_UNAUTHORIZED (for example if a server has rejected
 *                                this token)
 *
 * A new token is stored before it is used. If that fails, the client uses the token and logs the error. A client never
 * replaces a newer login in the store by an older one. When a client refreshes its token, it adopts a login that another
 * client has stored. If another client has logged out, its calls then fail with NJ_UNAUTHORIZED. Some servers report a
 * lifetime of 0 seconds for tokens that never expire. The client uses a token with this lifetime until a server rejects
 * it, and logs a warning.
 *
 * If there are several credentials, each has the name of its security scheme:
 *
 *     {"schemes": {"apiKey": {"type": "api_key", "header": "X-Key", "key": "..."},
 *                  "oauth": {"type": "oauth2", "token_url": "/oauth/token"}}}
 *
 * Each endpoint uses the first security requirement (`security`) for which credentials are configured. If none of its
 * requirements has credentials, the request fails with NJ_INVALID_REQUEST before it is sent. {"auth": "apiKey"} of
 * nj_request_merge_json chooses other schemes. A request without an endpoint and without this option is sent without
 * credentials. Each login has its own token, store and refresh.
 *
 * If nj_config_set_catalog was called before with an API description that says how to log in, the type may be
 * omitted. oauth2 then requests the scopes of all endpoints of its scheme, unless `scope` is given. A refresh request
 * has no scope parameter, so the granted scopes do not change (RFC 6749 section 6).
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key or a wrong value; NJ_DECODING if `json` is not JSON;
 *         NJ_STORAGE if a key_file of a store cannot be read. On failure the credentials have not changed.
 */
NJ_API nj_status nj_config_set_auth_json(nj_config *config, const char *json, size_t length, nj_error **out_error);

/**
 * Loads, saves or deletes the record of a login in a store of the program, such as the keychain of the operating system.
 * nj_store_request_key is the KEY of "host:KEY".
 *
 *   operation        response
 *   ---------------  ------------------------------------------------------------------------------------------------
 *   NJ_STORE_LOAD    the bytes of the last save of this key; NULL if there are none
 *   NJ_STORE_SAVE    NULL, after nj_store_request_record has been stored permanently in place of the earlier record
 *   NJ_STORE_DELETE  NULL, after the record has been deleted, also if there was none. Requested by a logout.
 *
 * Responds at once with nj_store_request_respond or nj_store_request_fail, or keeps the request with
 * nj_store_request_retain and responds later, from any thread. If the last owner releases the request without a
 * response, the operation fails. A failed operation has the same effect as with other stores
 * (nj_config_set_auth_json): a token that could not be saved is used and saved later; a login or logout that could not
 * be saved fails with NJ_STORAGE.
 *
 * Runs inside the first nj_queue_poll or blocking function that runs for a call or operation of the client, and in
 * nj_queue_poll of the queue of nj_config_set_token_store. Without a response within 30 seconds, also because no thread
 * polls, the operation fails. Meanwhile, the timeouts of waiting calls run. nj_client_free waits up to 15 seconds for a
 * save in progress, but does not run the callback: free the client after its calls and logins have ended.
 *
 * @param request borrowed until the callback returns
 */
typedef void (*nj_store_fn)(void *context, nj_store_request *request);

/**
 * Sets the callback of the stores "host:KEY" of logins. The records are opaque, have at most 1 MiB and contain the tokens
 * in plain text, so the program must protect them. The clients of the configuration take turns and share the logins and
 * each token refresh. Other configurations and processes must not use the same records at the same time. After a
 * logout, the record is deleted. A client that is created later then uses the access_token and refresh_token of its
 * configuration again.
 *
 * @param queue   a further queue on which `access` is called, for work without a call or operation in flight, such as
 *                nj_client_set_token; the clients keep it alive. NULL: none; this work then waits for the next call or
 *                operation of the client. Ignored if `access` is NULL.
 * @param access  NULL, the default: nj_client_new fails with NJ_INVALID_ARGUMENT if a login has a store "host:KEY"
 * @param context passed to `access` unchanged; must stay valid until the clients and the queue are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_config_set_token_store(nj_config *config, nj_queue *queue, nj_store_fn access, void *context);

/**
 * Provides a token. Called when a call needs a token and the client has none, or its token expires soon or was
 * rejected by the server (skew and refresh_limit: see nj_config_set_auth_json). Called once for all waiting calls of the
 * client, inside the first nj_queue_poll or blocking function that runs for one of these calls. If a request that the
 * client sends itself waits for the token, such as the refresh of a cached response, any call or operation counts.
 *
 * The callback responds with nj_token_request_respond or nj_token_request_fail. It may keep the request with
 * nj_token_request_retain and respond later, from any thread. The waiting calls fail with NJ_TIMEOUT after 30 seconds
 * (or the refresh_timeout of the scheme) without a response, and with NJ_UNAUTHORIZED if the last owner releases the
 * request without a response. If the callback fetches the token with the same client, that call must not need a token:
 * nj_request_set_use_auth(request, false).
 *
 * @param request borrowed until the callback returns
 */
typedef void (*nj_token_fn)(void *context, nj_token_request *request);

/**
 * Sets a callback that provides tokens.
 *
 * @param scheme  the security scheme whose tokens the callback provides. The callback replaces the credential that
 *                nj_config_set_auth_json sets for this scheme, in any order of the two calls. Credentials of other
 *                schemes are kept. NULL: the callback provides the tokens of all calls and replaces all other
 *                credentials; nj_client_new fails with NJ_INVALID_ARGUMENT if a scheme also has a callback.
 * @param provide NULL: removes the callback of the scheme. If `scheme` is also NULL, removes all credentials except the
 *                callbacks of schemes.
 * @param context passed to `provide` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_token_provider(nj_config *config, const char *scheme, nj_token_fn provide,
                                              void *context);

/**
 * Runs once each time a login has ended and a new login is needed, but not after nj_client_log_out. Runs where the
 * callbacks of the call that last needed a token run: inside nj_queue_poll or the blocking function. If this call has no
 * queue any more, runs inside the first nj_queue_poll or blocking function that runs for any call or operation of the
 * client, also a later one. The callback may start calls and log in.
 */
typedef void (*nj_login_required_fn)(void *context);

/**
 * Sets the callback for the end of a login.
 *
 * @param required NULL, the default: none
 * @param context  passed to `required` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_on_login_required(nj_config *config, nj_login_required_fn required, void *context);

/* ==================================================================================================================
 * nj_token_request: a decision request for a token
 *
 *   Borrowed by  nj_token_fn; nj_token_request_retain adds a reference
 *   Released by  nj_token_request_release, once for each nj_token_request_retain
 *   Threads      any
 * ================================================================================================================== */

/** Adds a reference, so that the caller can respond after the callback has returned. NULL if `request` is NULL. */
NJ_API nj_token_request *nj_token_request_retain(nj_token_request *request);

/**
 * Releases one reference. If it is the last one and the request has no response, the waiting calls fail. NULL is
 * ignored.
 */
NJ_API void nj_token_request_release(nj_token_request *request);

/** Reports whether the server has rejected the last token. False if `request` is NULL. */
NJ_API bool nj_token_request_was_rejected(const nj_token_request *request);

/**
 * Provides the token to the waiting calls.
 *
 * @param expires_in_seconds the token's lifetime from now, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY if the
 *                           lifetime is not known: the token is then used until a server rejects it
 * @return NJ_OK; NJ_INVALID_ARGUMENT for a token that cannot be sent in a header or a lifetime out of range (the
 *         request stays pending), and for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_token_request_respond(nj_token_request *request, const char *access_token,
                                          double expires_in_seconds);

/**
 * Reports that there is no token. The waiting calls fail with NJ_UNAUTHORIZED.
 *
 * @param ends_login true: a new login is needed (nj_config_on_login_required), and all calls fail until
 *                   nj_client_set_token. False: nj_token_fn is called again for the next call.
 * @param message    for the developer, in the errors of the calls or in the log; NULL: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_token_request_fail(nj_token_request *request, bool ends_login, const char *message);

/* ==================================================================================================================
 * nj_store_request: a decision request for the record of a login
 *
 *   Borrowed by  nj_store_fn; nj_store_request_retain adds a reference
 *   Released by  nj_store_request_release, once for each nj_store_request_retain
 *   Threads      any
 * ================================================================================================================== */

/** Adds a reference, so that the caller can respond after the callback has returned. NULL if `request` is NULL. */
NJ_API nj_store_request *nj_store_request_retain(nj_store_request *request);

/**
 * Releases one reference. If it is the last one and the request has no response, the operation fails. NULL is ignored.
 */
NJ_API void nj_store_request_release(nj_store_request *request);

/** Returns the operation. NJ_STORE_NONE if `request` is NULL. */
NJ_API nj_store_operation nj_store_request_operation(const nj_store_request *request);

/** Returns the key of the record. NULL if `request` is NULL. */
NJ_API const char *nj_store_request_key(const nj_store_request *request);

/**
 * Returns the record of NJ_STORE_SAVE. It contains tokens. NULL for other operations and if `request` is NULL.
 *
 * @param out_length receives the number of bytes, 0 if there is no record; may be NULL
 */
NJ_API const void *nj_store_request_record(const nj_store_request *request, size_t *out_length);

/**
 * Reports the success of the operation.
 *
 * @param record the record of NJ_STORE_LOAD; copied. NULL: there is none. NULL for the other operations.
 * @param length bytes of `record`, at most 1 MiB
 * @return NJ_OK, also if nothing waits any more; NJ_INVALID_ARGUMENT for a record of another operation than NJ_STORE_LOAD
 *         or a length out of range (the request stays pending), and for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_store_request_respond(nj_store_request *request, const void *record, size_t length);

/**
 * Reports that the operation has failed.
 *
 * @param message for the developer, in errors and in the log; must not contain secrets; NULL: none
 * @return NJ_OK, also if nothing waits any more; NJ_INVALID_ARGUMENT for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_store_request_fail(nj_store_request *request, const char *message);

/* ==================================================================================================================
 * nj_challenge: a decision request for the challenge of a server
 *
 *   Borrowed by  nj_challenge_fn; nj_challenge_retain adds a reference
 *   Released by  nj_challenge_release, once for each nj_challenge_retain
 *   Threads      any
 * ================================================================================================================== */

/**
 * Decides a challenge. Runs inside the first nj_queue_poll or blocking function that runs for one of the calls that wait
 * for the decision. For a request that the client sends itself, such as a token request, any call or operation of the
 * client in flight counts. If there is none during a TLS handshake, a chain is
 * rejected with NJ_INVALID_REQUEST, and no client certificate is sent.
 *
 *   kind                             called                                       responses
 *   -------------------------------  -------------------------------------------  --------------------------------------
 *   NJ_CHALLENGE_HTTP                after a 401 response with Basic or Digest,   nj_challenge_use_password repeats the
 *                                    if the client has no login or the server     request; the default delivers the 401
 *                                    has rejected the login                       response
 *   NJ_CHALLENGE_CLIENT_CERTIFICATE  during the TLS handshake, if neither         nj_challenge_use_certificate_file,
 *                                    tls.client_certificate nor tls.hosts has a   nj_challenge_use_certificate_pkcs12;
 *                                    certificate for the host                     by default, none is sent
 *   NJ_CHALLENGE_SERVER_TRUST        for each full TLS handshake, after the       by default, the chain is accepted
 *                                    chain was verified and compared with the
 *                                    pins, before a client certificate or a
 *                                    request is sent
 *
 * Every challenge can also be cancelled with nj_challenge_cancel. The callback is not called for an invalid chain, which
 * always fails the call, nor for NJ_CHALLENGE_SERVER_TRUST if certificates are not verified.
 *
 * The callback responds at once, or keeps the challenge with nj_challenge_retain and responds later, from any thread. If
 * the last owner releases the challenge without a response, the default applies. While a call waits, its total timeout
 * runs, and during a TLS handshake also its connect timeout (nj_config_set_connect_timeout).
 *
 * The callback is called for a password at most 5 times in a call, and only if its body can be sent again. Calls that
 * need the same password share one challenge. The client uses the password again for later requests to the same origin,
 * in memory only, until the server rejects it or nj_client_log_out is called; likewise a certificate for later
 * connections to the same host and port. It is not called for a password if the call has its own Authorization header
 * or no authentication (nj_request_set_use_auth), for a password or a client certificate after a redirect to another
 * origin, and for a 407 response of a proxy: set the user and the password in the URL of the proxy.
 *
 * @param challenge borrowed until the callback returns
 */
typedef void (*nj_challenge_fn)(void *context, nj_challenge *challenge);

/**
 * Sets the callback that decides challenges.
 *
 * @param decide  NULL, the default: the defaults apply
 * @param context passed to `decide` unchanged; must stay valid until the clients are freed
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_on_challenge(nj_config *config, nj_challenge_fn decide, void *context);

/** Adds a reference, so that the caller can respond after the callback has returned. NULL if `challenge` is NULL. */
NJ_API nj_challenge *nj_challenge_retain(nj_challenge *challenge);

/**
 * Releases one reference. If it is the last one and the challenge has no response, the default applies. NULL is ignored.
 */
NJ_API void nj_challenge_release(nj_challenge *challenge);

/** Returns the kind. NJ_CHALLENGE_NONE if `challenge` is NULL. */
NJ_API nj_challenge_type nj_challenge_kind(const nj_challenge *challenge);

/** Returns the name or the address of the server or proxy. NULL if `challenge` is NULL. */
NJ_API const char *nj_challenge_host(const nj_challenge *challenge);

/** Returns the port of the server or proxy. 0 if `challenge` is NULL. */
NJ_API int nj_challenge_port(const nj_challenge *challenge);

/** Reports whether the peer is an https proxy. False if `challenge` is NULL. */
NJ_API bool nj_challenge_is_proxy(const nj_challenge *challenge);

/**
 * Reports whether the connection uses TLS. If not, others on the network can read a password that is sent with Basic.
 * False if `challenge` is NULL.
 */
NJ_API bool nj_challenge_is_encrypted(const nj_challenge *challenge);

/** Returns the scheme of NJ_CHALLENGE_HTTP: "Basic" or "Digest". NULL for other kinds and if `challenge` is NULL. */
NJ_API const char *nj_challenge_scheme(const nj_challenge *challenge);

/**
 * Returns the realm of NJ_CHALLENGE_HTTP, a text of the server. Empty if the server has sent none. NULL for other kinds
 * and if `challenge` is NULL.
 */
NJ_API const char *nj_challenge_realm(const nj_challenge *challenge);

/** Returns the number of passwords that the server has rejected before in this call. 0 if `challenge` is NULL. */
NJ_API size_t nj_challenge_rejections(const nj_challenge *challenge);

/**
 * Returns the challenge as a JSON object: kind ("http", "client_certificate" or "server_trust"), host, port, proxy,
 * encrypted, and by kind:
 *
 *   http                scheme, realm, rejections
 *   client_certificate  authorities: the names of the certificate authorities that the server accepts (RFC 2253); empty
 *                       if the server has sent none
 *   server_trust        chain: the certificates that the server has sent, as in nj_response_tls_json
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return a text that lives as long as the challenge; NULL if `challenge` is NULL
 */
NJ_API const char *nj_challenge_json(const nj_challenge *challenge, size_t *out_length);

/**
 * Responds with the default: the 401 response is delivered, no client certificate is sent, or the chain is accepted.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT for a challenge that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_challenge_use_default(nj_challenge *challenge);

/**
 * Repeats the request with a user name and a password, by the strongest scheme that the server offers: Digest with
 * SHA-512/256, SHA-256 or MD5, then Basic. If the server rejects the password, the callback is called again.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT for another kind than NJ_CHALLENGE_HTTP and for a user name with a colon if the
 *         scheme is Basic (the challenge stays pending), and for a challenge that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_challenge_use_password(nj_challenge *challenge, const char *user, const char *password);

/**
 * Sends a client certificate. The library reads the files after this function has returned, on a thread of its own. If a
 * file cannot be read, the call fails with NJ_TLS.
 *
 * @param file     a PEM file with the certificate and then the intermediate certificates, or a PKCS #12 archive
 * @param key_file a PEM file with the private key; NULL: the key is in `file`
 * @param password the password of an encrypted key or archive; NULL: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT for another kind than NJ_CHALLENGE_CLIENT_CERTIFICATE (the challenge stays
 *         pending), and for a challenge that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_challenge_use_certificate_file(nj_challenge *challenge, const char *file, const char *key_file,
                                                   const char *password);
NJ_API nj_status nj_challenge_use_certificate_pkcs12(nj_challenge *challenge, const char *file, const char *password);

/**
 * Rejects the challenge. The waiting calls fail with NJ_CANCELLED and are not retried. A connection whose chain or
 * certificate request is rejected is closed, and its TLS session is not resumed.
 *
 * @param message for the developer, in the errors of the calls; NULL: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT for a challenge that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_challenge_cancel(nj_challenge *challenge, const char *message);

/* ==================================================================================================================
 * nj_address_request: a decision request for the addresses of a host
 *
 *   Borrowed by  nj_address_fn; nj_address_request_retain adds a reference
 *   Released by  nj_address_request_release, once for each nj_address_request_retain
 *   Threads      any
 * ================================================================================================================== */

/** Adds a reference, so that the caller can respond after the callback has returned. NULL if `request` is NULL. */
NJ_API nj_address_request *nj_address_request_retain(nj_address_request *request);

/**
 * Releases one reference. If it is the last one and the request has no response, the waiting calls fail. NULL is
 * ignored.
 */
NJ_API void nj_address_request_release(nj_address_request *request);

/** Returns the name or the address of the server or proxy. NULL if `request` is NULL. */
NJ_API const char *nj_address_request_host(const nj_address_request *request);

/** Returns the port of the server or proxy. 0 if `request` is NULL. */
NJ_API int nj_address_request_port(const nj_address_request *request);

/** Reports whether the host is a proxy. False if `request` is NULL. */
NJ_API bool nj_address_request_is_proxy(const nj_address_request *request);

/**
 * Returns the number of addresses among which the callback of nj_config_on_addresses decides, 1 to 64; a host's
 * further addresses are not used. 0 for the callback of nj_config_set_resolver, and if `request` is NULL.
 */
NJ_API size_t nj_address_request_count(const nj_address_request *request);

/** Returns an address such as "192.0.2.1" or "2001:db8::1". NULL if `request` is NULL or `index` is out of range. */
NJ_API const char *nj_address_request_at(const nj_address_request *request, size_t index);

/**
 * Responds with the addresses to which connections may be opened, in order of preference. IPv6 and IPv4 addresses are
 * tried alternately (RFC 8305).
 *
 * @param addresses 0 to 64 IPv4 or IPv6 addresses, a list that ends with NULL; copied. In a request of
 *                  nj_config_on_addresses, addresses of the request.
 * @return NJ_OK, also if no call waits any more; NJ_INVALID_ARGUMENT for more than 64 addresses, for a text that is not
 *         an address, and for an address that is not one of the request (the request stays pending), and for a request
 *         that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_address_request_respond(nj_address_request *request, const char *const *addresses);

/**
 * Fails the waiting calls: with NJ_DNS in a request of nj_config_set_resolver, and with NJ_INVALID_REQUEST in one of
 * nj_config_on_addresses.
 *
 * @param message for the developer, in the errors of the calls; NULL: none
 * @return NJ_OK, also if no call waits any more; NJ_INVALID_ARGUMENT for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_address_request_fail(nj_address_request *request, const char *message);

/**
 * Responds as if there were no callback: the system resolves the name, or all addresses of the request may be used.
 *
 * @return NJ_OK, also if no call waits any more; NJ_INVALID_ARGUMENT for a request that already has a response; NJ_FORKED
 */
NJ_API nj_status nj_address_request_use_default(nj_address_request *request);

/* ==================================================================================================================
 * Retries
 *
 * The client retries temporary failures: connection failures, connect and idle timeouts, and the statuses 408, 425, 429,
 * 500, 502, 503 and 504, unless the request expects the status. It retries a request only if this is safe: the server
 * cannot have processed the request, the method is idempotent (RFC 9110 section 9.2.2), the request has an idempotency
 * key, or its endpoint is declared idempotent. By default, the client waits at least as long as the server asks
 * (nj_config_set_respect_retry_after). The total timeout covers all attempts and waits.
 *
 * A budget limits the retries of all calls of a client. By default, it begins with 10 retries, and every 10 calls that
 * succeed add one, up to 10. A call that succeeds after retries returns them to the budget. The option retry.budget of
 * nj_config_merge_json sets both numbers.
 * ================================================================================================================== */

/**
 * Limits the attempts of one call, including the first.
 *
 * @param count 1 to 100; 3 by default. 1: no retries.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_retry_attempts(nj_config *config, size_t count);

/**
 * Sets the waits between attempts. The first wait is random between 0 and `base`. The upper bound doubles with each
 * further attempt, up to `cap`.
 *
 * @param base seconds, 0 to 3153600000; 0.5 by default
 * @param cap  seconds, 0 to 3153600000; 30 by default. NJ_NO_LIMIT has no meaning for either: 0 does not wait.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_retry_backoff(nj_config *config, double base, double cap);

/**
 * Limits how long a server may make a call wait. If the server asks for a longer wait, the call fails at once, and
 * nj_error_retry_after returns the requested wait.
 *
 * @param seconds 0 to 3153600000; 60 by default. NJ_NO_LIMIT has no meaning here: 0 does not wait.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_retry_max_wait(nj_config *config, double seconds);

/**
 * Sets whether the Retry-After of a response (RFC 9110 section 10.2.3) is respected. True by default. If it is:
 *
 *   - a redirect waits at least as long as the Retry-After asks, and so does a retry whose wait the client decides
 *   - a 429 with a wait of at most nj_config_set_retry_max_wait holds back all calls to the origin for this time. For a
 *     call of a limit group, it holds back the calls of the group instead
 *   - a 429 with a longer wait, and a 503, hold back the calls for the same URL for this time, or until one succeeds
 *
 * A call that would be held back for longer than nj_config_set_retry_max_wait, or beyond its total timeout, fails at
 * once with NJ_RATE_LIMITED. Retries are held back like other calls. Invalid values and values above 30 days are
 * ignored. If Retry-After is not respected, it is only reported (nj_error_retry_after).
 * nj_request_set_respect_retry_after replaces the client's setting for one request.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_respect_retry_after(nj_config *config, bool respect);
NJ_API nj_status nj_request_set_respect_retry_after(nj_request *request, bool respect);

/**
 * Names a response header with which the API requests a pause, such as "Backoff", also in successful responses. Its
 * value is a number of seconds, which may have a fraction, or a date as in Retry-After. All calls to the origin are then
 * held back for this time. For a call of a limit group, the calls of the group are held back instead. A success does
 * not end the pause. nj_client_limits_json reports it.
 *
 * A pause lasts at most one day (86400 seconds). Invalid values and values above 30 days are ignored. A call that would
 * be held back for longer than nj_config_set_retry_max_wait, or beyond its total timeout, fails at once with
 * NJ_RATE_LIMITED. Requests without nj_request_set_respect_retry_after ignore the header.
 *
 * @param name NULL, the default: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT if `name` is not the name of a header
 */
NJ_API nj_status nj_config_set_pause_header(nj_config *config, const char *name);

/**
 * Limits the attempts of the request's calls in place of the client's limit. The other retry settings of the client
 * still apply.
 *
 * @param count 1 to 100
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_retry_attempts(nj_request *request, size_t count);

/** A decision about an attempt that has failed. Members may be added. */
typedef enum nj_retry_action {
  NJ_RETRY_DEFAULT = 0, /* apply the client's settings */
  NJ_RETRY_AGAIN = 1,   /* retry, also against the settings; the server may then process the request twice */
  NJ_RETRY_STOP = 2,    /* fail the call */
  NJ_RETRY_PENDING = 3  /* nj_task_retry provides the decision later */
} nj_retry_action;

/**
 * Decides about a failed attempt: an attempt that failed with an error, or whose response has one of the statuses of
 * the section "Retries" that the request does not expect. Runs inside nj_queue_poll or the blocking call. The call
 * waits for the decision, at most until the total timeout expires. Not called if a part of the response has been
 * delivered, or if the error is NJ_PIN_MISMATCH, because the client never repeats such an attempt.
 *
 * NJ_RETRY_AGAIN overrides the number of attempts, the budget and the check that a retry is safe. It does not override
 * the total timeout, the limits of the section "Limits" or a Retry-After that holds back the call. The call fails in
 * spite of NJ_RETRY_AGAIN if a part of its streamed body has been read and the body cannot be restarted
 * (nj_request_set_body_rewind).
 *
 * @param attempt borrowed until the callback returns
 */
typedef nj_retry_action (*nj_retry_fn)(void *context, nj_task *task, nj_failed_attempt *attempt);

/**
 * Sets the callback that decides about failed attempts.
 *
 * @param retry   NULL, the default: the settings decide
 * @param context passed to `retry` unchanged; must stay valid until all calls of the request have ended
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_retry(nj_request *request, nj_retry_fn retry, void *context);

/* nj_failed_attempt: an attempt that has failed. Borrowed until nj_retry_fn returns. Must be used only on the thread that
 * runs the callback. */

/**
 * Returns the error of the attempt. Borrowed until the callback returns; nj_error_retain keeps it. NULL if `attempt` is
 * NULL.
 */
NJ_API const nj_error *nj_failed_attempt_error(const nj_failed_attempt *attempt);

/** Returns the number of the failed attempt, 1 for the first. Redirects also count. 0 if `attempt` is NULL. */
NJ_API size_t nj_failed_attempt_number(const nj_failed_attempt *attempt);

/** Returns the seconds after which the client would retry. -1 if it would not retry, or if `attempt` is NULL. */
NJ_API double nj_failed_attempt_delay(const nj_failed_attempt *attempt);

/** Returns why the client would not retry, as a sentence. NULL if it would retry, or if `attempt` is NULL. */
NJ_API const char *nj_failed_attempt_reason(const nj_failed_attempt *attempt);

/**
 * Sets how long NJ_RETRY_AGAIN waits. The default is nj_failed_attempt_delay, or 0 if the client would not retry.
 *
 * @param seconds 0 to 3153600000
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_failed_attempt_set_delay(nj_failed_attempt *attempt, double seconds);

/**
 * Provides the decision that NJ_RETRY_PENDING deferred. Must be called once for each NJ_RETRY_PENDING that nj_retry_fn
 * returned. Does nothing if the call has ended. Any thread.
 *
 * @param decision not NJ_RETRY_PENDING
 * @param seconds  how long NJ_RETRY_AGAIN waits, 0 to 3153600000; ignored for other decisions
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a task that is not a call; NJ_FORKED
 */
NJ_API nj_status nj_task_retry(nj_task *task, nj_retry_action decision, double seconds);

/**
 * Sets the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). All attempts of a call send the same
 * key, so that a request that changes data can be repeated after a lost response. The server must support the header.
 *
 * @param key 1 to 255 printable ASCII characters without spaces. NULL: the client generates a key for each call,
 *            which nj_response_idempotency_key and nj_error_idempotency_key return.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_idempotency_key(nj_request *request, const char *key);

/**
 * Declares that the request is idempotent although its method is not: processing it twice has the same effect as
 * processing it once. It is then retried although the server may have processed it, without an idempotency key. An
 * example is a POST that only searches.
 *
 * @param is_idempotent false, the default: the method decides (RFC 9110 section 9.2.2)
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_idempotent(nj_request *request, bool is_idempotent);

/** The size of the buffer of nj_idempotency_key_new, including NUL. */
#define NJ_IDEMPOTENCY_KEY_SIZE 37

/**
 * Generates an idempotency key: a random UUID (RFC 9562 section 5.4). This is for programs that store the key before
 * they send the request, and repeat the call after a crash.
 *
 * @param buffer   receives the key and NUL
 * @param capacity bytes of `buffer`, at least NJ_IDEMPOTENCY_KEY_SIZE
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_idempotency_key_new(char *buffer, size_t capacity);

/* ==================================================================================================================
 * Limits
 *
 * A client can limit its calls to each origin. Calls wait in the order of their arrival; the total timeout includes this
 * wait. If a rate limit would delay a call beyond its total timeout, the call fails at once with NJ_RATE_LIMITED. Limit
 * groups have their own limits, which apply to calls to any origin. nj_config_merge_json sets them:
 *
 *     {"limit_groups": {"search": {"rate_limit": {"requests": 10, "per": 1}, "concurrency": 4}}}
 * ================================================================================================================== */

/**
 * Limits how many requests to an origin begin in a period, evenly distributed. The client then also obeys the limits
 * that servers report (RateLimit, RateLimit-Policy and X-RateLimit-* headers: draft-ietf-httpapi-ratelimit-headers). No
 * limit by default.
 *
 * @param requests    1 to 1000000000. 0: only the limits that servers report; the other parameters are ignored.
 * @param per_seconds the period, more than 0 and at most 3153600000
 * @param burst       requests that may begin at the same time after a pause, 1 to 1000000000. 0: `requests`.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_rate_limit(nj_config *config, size_t requests, double per_seconds, size_t burst);

/**
 * Limits the requests to an origin that are in flight at the same time.
 *
 * @param count 1 to 1000000. 0, the default: only nj_config_set_max_connections_per_host limits them.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_concurrency(nj_config *config, size_t count);

/**
 * Sets a circuit breaker for each origin. The circuit opens when `failure_rate` of the calls in the last `window`
 * seconds have failed with NJ_DNS, NJ_CONNECT, NJ_TLS, NJ_CONNECTION_LOST, NJ_PROTOCOL or NJ_TIMEOUT, or with a status
 * of 500 and above. Each attempt counts as a call. The circuit stays open for `open_duration` seconds, and calls fail at
 * once with NJ_SERVER. Afterwards the circuit is half-open: one call is sent as a probe, and other calls still fail. If
 * the probe succeeds, the circuit closes; if it fails, the circuit opens again.
 *
 * @param failure_rate  more than 0, up to 1. 0, the default: no circuit breaker; the other parameters are ignored.
 * @param minimum_calls 1 to 1000000. The circuit stays closed while the window has fewer calls.
 * @param window        seconds, more than 0 and at most 3153600000
 * @param open_duration seconds, 0 to 3153600000
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_circuit_breaker(nj_config *config, double failure_rate, size_t minimum_calls,
                                               double window, double open_duration);

/**
 * Limits the calls that wait for the limits of one origin. A further call fails at once with NJ_RATE_LIMITED. A limit
 * group has its own max_queued, 1000 by default.
 *
 * @param count 0 to 10000000; 1000 by default. 0: no call waits.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_max_queued(nj_config *config, size_t count);

/**
 * Sets the group whose limits apply to the request in place of its origin's.
 *
 * @param group a name from limit_groups; a client without this group fails the call with NJ_INVALID_REQUEST. NULL,
 *              the default: the origin's limits.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_limit_group(nj_request *request, const char *group);

/**
 * Sets whether identical calls share one exchange while it is in flight, and one copy of its body. Calls are
 * identical if they have a safe method, no body, and the same URL, headers, credentials and options; their total
 * timeouts may differ. False by default. nj_request_set_coalesce replaces the client's setting for one request.
 *
 * Each call has its own timeouts and can be cancelled. The exchange is cancelled when its last call is cancelled. The
 * response is not stored for calls that start after the exchange has ended. Requests with callbacks for head, body,
 * redirects, retries or refreshes never share. No further calls join an exchange once one of its calls has timed out,
 * or once the client has completed a call with an unsafe method (such as PUT) to the same origin. A GET after a
 * completed PUT therefore never receives an older response.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_coalesce(nj_config *config, bool coalesce);
NJ_API nj_status nj_request_set_coalesce(nj_request *request, bool coalesce);

/**
 * Returns the state of the origins and groups that have a limit, or whose server has asked for a pause (Retry-After).
 * Origins and groups without calls may be missing:
 *
 *     [{"name": "https://api.example.com", "in_flight": 3, "queued": 0, "circuit": "closed"}]
 *
 *   in_flight  the number of requests in flight
 *   queued     the number of calls that wait
 *   circuit    "closed", "open" or "half_open"
 *   pause      the remaining seconds of a Retry-After, if there is one. A pause of one URL has its own entry, with the
 *              URL as its name
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return JSON text that the caller frees with nj_text_free; "[]" after fork; NULL if `client` is NULL
 */
NJ_NEW char *nj_client_limits_json(nj_client *client, size_t *out_length);

/* ==================================================================================================================
 * Network: its status, and calls that wait for it
 *
 * The library observes the network while a program needs it: links, addresses and routes by netlink, and metered and
 * captive networks by NetworkManager. Without NetworkManager, for example in a sandbox, the desktop portal
 * (org.freedesktop.portal.NetworkMonitor) reports metered and captive networks. The library starts neither a bus nor a
 * service. The status is a hint. A server can be reachable although the status is offline, and the reverse. Loopback
 * addresses and unix sockets are always reachable. One thread of the library observes the network for the whole
 * process. The thread exists only while it is needed.
 *
 *   Created by   nj_network_status
 *   Released by  nj_network_free
 *   Threads      any; a status is immutable
 * ================================================================================================================== */

/** A yes or no that may be unknown. Members may be added. */
typedef enum nj_tristate {
  NJ_UNKNOWN = -1,
  NJ_NO = 0,
  NJ_YES = 1
} nj_tristate;

/**
 * Returns the current status of the network. Waits up to half a second if the status is not known yet. Never NULL.
 */
NJ_NEW nj_network *nj_network_status(void);

/** Frees a status that nj_network_status has returned. NULL is ignored. */
NJ_API void nj_network_free(nj_network *network);

/**
 * Reports whether the machine has an address and a default route through a running interface. True if this is not
 * known, or if `network` is NULL.
 */
NJ_API bool nj_network_is_online(const nj_network *network);

/**
 * Returns whether data over the network is charged or limited. NJ_UNKNOWN if this is not known, for example without
 * NetworkManager and the desktop portal, or if `network` is NULL.
 */
NJ_API nj_tristate nj_network_metered(const nj_network *network);

/**
 * Returns whether a captive portal intercepts requests, such as the login page of a hotel. NJ_UNKNOWN if this
 * is not known, for example without NetworkManager and the desktop portal, or if `network` is NULL.
 */
NJ_API nj_tristate nj_network_captive(const nj_network *network);

/** Reports whether the network is constrained (nj_network_set_constrained). False if `network` is NULL. */
NJ_API bool nj_network_is_constrained(const nj_network *network);

/** Returns the interface of the preferred default route: "wlan0". NULL if there is none, or if `network` is NULL. */
NJ_API const char *nj_network_interface(const nj_network *network);

/**
 * Returns the kind of the primary connection: "ethernet", "wifi", "cellular", "bluetooth", "vpn" or "other". NULL if it
 * is not known, or if `network` is NULL.
 */
NJ_API const char *nj_network_kind(const nj_network *network);

/**
 * Sets whether the network is constrained: the user has asked for low data usage. Applies to all clients of the process.
 * False by default.
 */
NJ_API void nj_network_set_constrained(bool constrained);

/** Receives the status of the network. `network` is borrowed until the callback returns. */
typedef void (*nj_network_fn)(void *context, const nj_network *network);

/**
 * Starts to observe the network.
 *
 * @param queue   the queue on which `changed` is delivered
 * @param changed called from nj_queue_poll with the current status, and then after each change of the status, the
 *                routes or the addresses, and after the machine has resumed from sleep. Changes of the system are
 *                reported when none has followed for 0.25 seconds, or after 1 second.
 * @return an observer, owned by the caller. NULL on failure: NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_NEW nj_network_observer *nj_network_observer_new(nj_queue *queue, nj_network_fn changed, void *context,
                                                    nj_error **out_error);

/** Stops observing the network. The callback is not called again, not even for queued events. NULL is ignored. */
NJ_API void nj_network_observer_free(nj_network_observer *observer);

/**
 * Sets how long a call waits for the network instead of failing with NJ_OFFLINE. The request is sent again after a
 * change of the network. The total timeout continues to run. Only requests that no server can have received wait.
 *
 * @param seconds 0 to 3153600000, for all waits of a call together. 0, the default: calls do not wait.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_wait_for_connectivity(nj_config *config, double seconds);
NJ_API nj_status nj_request_set_wait_for_connectivity(nj_request *request, double seconds);

/**
 * Sets whether calls may use a metered network. If not, a call on a metered network fails with NJ_OFFLINE, or waits for
 * another network. A network that is not known to be metered is used. True by default. Cached responses are returned in
 * any network.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_allow_metered(nj_config *config, bool allow);
NJ_API nj_status nj_request_set_allow_metered(nj_request *request, bool allow);

/**
 * Sets whether calls may use the network while it is constrained (nj_network_set_constrained). True by default.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_allow_constrained(nj_config *config, bool allow);
NJ_API nj_status nj_request_set_allow_constrained(nj_request *request, bool allow);

/** Why a call was not sent. Members may be added. */
typedef enum nj_offline_reason {
  NJ_OFFLINE_REASON_UNKNOWN = 0,
  NJ_OFFLINE_NO_NETWORK = 1,  /* the machine has no network, or no route to the host */
  NJ_OFFLINE_METERED = 2,     /* the network is metered (nj_config_set_allow_metered) */
  NJ_OFFLINE_CONSTRAINED = 3  /* the network is constrained (nj_config_set_allow_constrained) */
} nj_offline_reason;

/** Returns the reason of NJ_OFFLINE. NJ_OFFLINE_REASON_UNKNOWN if the error has another kind, or if `error` is NULL. */
NJ_API nj_offline_reason nj_error_offline_reason(const nj_error *error);

/** Receives the reason for which a call waits. */
typedef void (*nj_waiting_fn)(void *context, nj_task *task, nj_offline_reason reason);

/**
 * Sets the callback that is called each time a call begins to wait for the network. NULL, the default: none.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_waiting(nj_request *request, nj_waiting_fn waiting, void *context);

/* ==================================================================================================================
 * Testing without a network
 *
 * A mock, a cassette and a network profile replace or change the network below all other parts of the client. Their
 * responses are retried, redirected, cached and authenticated like those of a server. All functions here are for the
 * configuration, except those that inspect a client's mock.
 * ================================================================================================================== */

/**
 * Sets a list of routes that respond to requests in place of the network. The JSON is a list of routes, or
 * {"routes": [...], "passthrough": true}, which sends unmatched requests to the network. The first route that
 * matches a request responds to it. Without passthrough, an unmatched request fails with NJ_INVALID_REQUEST, and the
 * message names the nearest route.
 *
 *   member of a route  value
 *   -----------------  ----------------------------------------------------------------------------------------------
 *   name               the name of the route for nj_client_mock_uses
 *   method             a method; any by default
 *   path               "/articles/{id}", or "/files/" and two asterisks for all paths below; relative to the base URL,
 *                      or absolute
 *   query, headers,    an object: "value", a list of values, true (any) or false (absent) for each name
 *   form
 *   json               the values that the JSON of the body must contain
 *   body               the whole body
 *   times              how often the route responds; unlimited by default
 *   optional           true: nj_client_mock_verify does not require that the route is used
 *   response,          a response, or a list of responses in their order
 *   responses
 *   when_exhausted     after all of `responses`: "last" (default: the last one again), "first" (all again) or "error"
 *
 * A response is a status, or an object:
 *
 *   status                 100 to 599; 200 by default
 *   headers                an object of names and values
 *   json, body, base64,    the body; this function reads the file
 *   file
 *   delay                  seconds before the response
 *   rate                   bytes per second
 *   chunk_size             the size in bytes of each received part of the body
 *   fault                  "offline", "dns", "connect", "tls", "connect_timeout", "timeout", "hang", "connection_lost",
 *                          "malformed", or {"kind": "connection_lost", "after": 100}: after 100 bytes of the body
 *   websocket              the steps of a WebSocket that the server accepts, in place of a body. A step has one of
 *                          "send" (a text, or an object that is sent as JSON), "send_base64" (a binary message),
 *                          "receive" (waits for a text, for an object with these members, or for any message: true),
 *                          "receive_base64", "close" (a code, 0 for none, with "reason") and "drop": true (the connection
 *                          is lost), and can have "delay" in seconds. Another message than the expected one ends the
 *                          WebSocket with NJ_INVALID_REQUEST.
 *
 * @param json   NULL, the default: no mock
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown member or a wrong value; NJ_DECODING if `json` is not JSON;
 *         NJ_STORAGE if a file cannot be read. On failure the mock has not changed.
 */
NJ_API nj_status nj_config_set_mock(nj_config *config, const char *json, size_t length, nj_error **out_error);

/**
 * Returns how often a route has responded.
 *
 * @param route the name of a route, or its method and path as written in the route: "GET /articles". NULL: the sum of
 *              all routes.
 * @return the number; 0 also if the client has no mock or no such route, if `client` is NULL, and after fork
 */
NJ_API size_t nj_client_mock_uses(nj_client *client, const char *route);

/**
 * Checks that each route that is not optional has responded, as often as its `times` requires, and that every request
 * matched a route.
 *
 * @return NJ_OK; NJ_INVALID_REQUEST if the check fails; NJ_INVALID_ARGUMENT, also if the client has no mock; NJ_FORKED
 */
NJ_API nj_status nj_client_mock_verify(nj_client *client, nj_error **out_error);

/**
 * Resets the counts of a client's mock and restarts its sequences of responses. Does nothing without a mock and after
 * fork.
 */
NJ_API void nj_client_mock_reset(nj_client *client);

/** The mode of a cassette. Members may be added. */
typedef enum nj_cassette_mode {
  NJ_CASSETTE_AUTO = 0,   /* replays exchanges that the file has; sends the others and adds them to the file */
  NJ_CASSETTE_RECORD = 1, /* sends all requests; their exchanges replace the file's content */
  NJ_CASSETTE_REPLAY = 2 /* replays; a request without a recorded exchange fails with NJ_INVALID_REQUEST */
} nj_cassette_mode;

/**
 * Records exchanges to a JSON file or replays them, including redirects and token refreshes. Secrets are replaced by
 * placeholders; equal secrets have the same placeholder. Each exchange is replayed once. Exchanges with the same
 * method, URL and body (without secrets) are replayed in the order of recording.
 *
 * The option `cassette` of nj_config_merge_json has more settings: {"file", "mode", "repeats": true (the last
 * exchange again and again), "timing": true (with the recorded delays), "headers": [names to compare], "ignore":
 * {"query": [names], "json": [pointers], "body": true, "origin": true}, "secrets": [further names], "secret_values":
 * [texts]}.
 *
 * nj_client_new reads the file, except with NJ_CASSETTE_RECORD. It fails with NJ_STORAGE if the file cannot be read or,
 * with NJ_CASSETTE_REPLAY, does not exist, and with NJ_DECODING if the file is damaged. The file is written about once
 * a second and by nj_client_free; a failure is logged. Only one client at a time may record to a file.
 *
 * @param path NULL, the default: no cassette; `mode` is then ignored
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for an empty path
 */
NJ_API nj_status nj_config_set_cassette(nj_config *config, const char *path, nj_cassette_mode mode);

/**
 * Makes the network, or the mock, slower or less reliable. The option `network` of nj_config_merge_json takes a name
 * or {"profile", "latency", "jitter" (seconds), "down", "up" (bytes per second), "loss" (the share of exchanges that
 * fail, 0 to 1), "offline", "seed"}.
 *
 *   profile  latency          down      up        loss
 *   -------  ---------------  --------  --------  ----
 *   3g       0.3 s            200 kB/s   96 kB/s  0
 *   edge     0.84 s            30 kB/s   25 kB/s  0
 *   lossy    0.3 s + 0-0.2 s  200 kB/s   96 kB/s  0.1
 *   offline  all requests fail with NJ_OFFLINE
 *
 * @param name a profile; NULL, the default: none
 * @param seed the seed of the random numbers; the same seed produces the same delays and losses
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown name
 */
NJ_API nj_status nj_config_set_network_profile(nj_config *config, const char *name, uint64_t seed);

/* ==================================================================================================================
 * nj_client: connections, policies and the event loop that runs them
 *
 *   Constructor  nj_client_new
 *   Destructor   nj_client_free
 *   Threads      any
 * ================================================================================================================== */

/**
 * Creates a client. Its event loop runs on its own thread.
 *
 * @param config copied; NULL: the defaults
 * @return a client that the caller frees with nj_client_free, or NULL: NJ_INVALID_ARGUMENT for options that
 *         contradict each other; NJ_INVALID_URL for the base URL; NJ_INVALID_REQUEST for a default header that cannot
 *         be sent, or whose name denotes credentials if there is no base URL; NJ_TLS for the file of certificate
 *         authorities; NJ_STORAGE for a file that an option names; NJ_DECODING for the content of such a file; the
 *         errors of nj_catalog_load_file for the option openapi; NJ_CONNECT if the system has no thread or descriptor
 *         left; NJ_FORKED if the configuration has a cache or a cookie jar of the parent process
 */
NJ_NEW nj_client *nj_client_new(const nj_config *config, nj_error **out_error);

/**
 * Cancels all calls of the client, posts their completions to their queues, closes the connections and frees the
 * client. NULL is ignored. May be called from a callback.
 *
 * The function returns when the client has no work in progress. It waits up to 15 seconds for a token refresh in
 * progress and for saves of logins and logouts, up to 5 seconds for another process that holds the cache on disk, and
 * about 5 seconds for another process that locks the cookie file. A host name lookup that the system's resolver has not
 * finished continues on its own thread, without access to the client.
 */
NJ_API void nj_client_free(nj_client *client);

/**
 * Sends a request and blocks until the response is complete. The request's callbacks run on this thread.
 *
 * @param request copied; it can be sent any number of times
 * @return a response that the caller releases with nj_response_release, or NULL with an error of any kind from
 *         NJ_CANCELLED to NJ_SCRIPT: the kind of an unexpected status (nj_request_expect_status), a network error,
 *         NJ_TIMEOUT, NJ_TOO_LARGE, NJ_DECODING, NJ_CACHE_MISS, the status that a before hook has returned; or
 *         NJ_INVALID_URL, NJ_INVALID_REQUEST, NJ_CLOSED, NJ_FORKED
 */
NJ_NEW nj_response *nj_client_send(nj_client *client, const nj_request *request, nj_error **out_error);

/**
 * Receives the result of a task. Called exactly once for each started task. Exactly one of `response` and `error` is
 * not NULL. All handles are borrowed until the callback returns; nj_task_retain, nj_response_retain and
 * nj_error_retain keep them. The callback may start, cancel and free anything.
 */
typedef void (*nj_done_fn)(void *context, nj_task *task, const nj_response *response, const nj_error *error);

/**
 * Starts a request without blocking.
 *
 * @code
 *     static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
 *       (void)task;
 *       if (response) printf("%d\n", nj_response_status(response));
 *       if (error) fprintf(stderr, "%s\n", nj_error_message(error));
 *       *(int *)context += 1;
 *     }
 *
 *     static void fetch(nj_client *client, nj_error **error) {
 *       int count = 0;
 *       nj_queue *queue = nj_queue_new();
 *       nj_request *request = nj_request_new("GET", "/v1/articles");
 *       nj_task *task = nj_client_start(client, request, queue, done, &count, error);
 *       while (task && count == 0) nj_queue_poll(queue, 10);
 *       nj_task_release(task);
 *       nj_request_free(request);
 *       nj_queue_free(queue);
 *     }
 * @endcode
 *
 * @param request copied; it can be sent any number of times
 * @param queue   the queue on which `done` and all other events of this task are delivered
 * @param done    called exactly once, from nj_queue_poll, or from nj_queue_free if the queue is freed first. `done` is
 *                never called from inside nj_client_start, but another thread that polls the queue may call `done`
 *                before nj_client_start returns
 * @param context passed to `done` unchanged; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release (releasing does not cancel), or NULL:
 *         NJ_INVALID_ARGUMENT, NJ_INVALID_URL or NJ_INVALID_REQUEST for the request, NJ_CLOSED, NJ_FORKED. Network
 *         failures are reported to `done`, never here.
 */
NJ_NEW nj_task *nj_client_start(nj_client *client, const nj_request *request, nj_queue *queue, nj_done_fn done,
                                void *context, nj_error **out_error);

/* --- Logins of a client. If the client has several logins, `scheme` names the security scheme of the login. NULL: the
 * only login. --- */

/**
 * Installs a token that the program has obtained, in place of the current one, and saves it in the store.
 *
 * @param json   {"access_token": "...", "refresh_token": "...", "expires_in": 3600}; only access_token is required;
 *               token_type and scope are allowed (RFC 6749 section 5.1). Need not end with NUL.
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key, a wrong value, and a token that cannot be sent in a header;
 *         NJ_DECODING if `json` is not JSON; NJ_INVALID_REQUEST if the client has no such login, or several and
 *         `scheme` is NULL; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_set_token(nj_client *client, const char *scheme, const char *json, size_t length,
                                   nj_error **out_error);

/**
 * Logs out and blocks until the store, the cache on disk and the cookie file have been changed: removes the token, also
 * from the store, and the cached responses that only this login may see. Afterwards calls fail with NJ_UNAUTHORIZED until
 * nj_client_set_token or nj_client_log_in is called, also after a restart. The passwords and certificates of
 * nj_config_on_challenge are forgotten; for this, the client need not have a login. Until then, the access_token and
 * refresh_token of the configuration are not used. Other clients of the store are logged out when they next refresh
 * their token. The server is not notified.
 *
 * @param clear_cookies true: deletes the cookies of the login, also from the cookie file: the cookies that responses to
 *                      its requests have set, and the cookies for the host of the base URL that no login's request has
 *                      received, such as the cookie of a login page. Cookies that other logins have received are kept.
 *                      A client without a login can also delete the cookies of its host.
 * @return NJ_OK; NJ_STORAGE if the store, the cache or the cookie file could not be changed, so that another client may
 *         still use the login; NJ_TIMEOUT after 180 seconds (after both errors, this client is logged out nevertheless);
 *         NJ_CANCELLED if another thread frees the client; NJ_INVALID_REQUEST if the client has no such login, or several
 *         and `scheme` is NULL; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_log_out(nj_client *client, const char *scheme, bool clear_cookies,
                                   nj_error **out_error);

/** Shows the prompt of an interactive login to a person. `prompt` is borrowed until the callback returns. */
typedef void (*nj_login_prompt_fn)(void *context, const nj_login_prompt *prompt);

/**
 * Obtains a token and blocks until it is in the store. With the grant device_code, a person enters a code on another
 * device (RFC 8628). With authorization_code, a person allows the access in a browser, which is redirected to a
 * socket of this machine (RFC 8252, with PKCE, RFC 7636). Any other login obtains the token without a prompt.
 *
 * @param seconds how long the login may take, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit, except that the
 *                server's code may expire
 * @param prompt  called on the thread that called nj_client_log_in
 * @param context passed to `prompt` unchanged
 * @return NJ_OK; NJ_UNAUTHORIZED if the server or the person denied access; NJ_TIMEOUT; NJ_CANCELLED, for example if
 *         another login or a logout replaces this login; NJ_STORAGE if the store failed (if the client has already
 *         obtained a token, it uses this token); NJ_INVALID_REQUEST if the client has no such login, several and
 *         `scheme` is NULL, or a token provider; a network error, or the error for the server's response, such as
 *         NJ_DECODING; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_log_in(nj_client *client, const char *scheme, double seconds, nj_login_prompt_fn prompt,
                                  void *context, nj_error **out_error);

/**
 * Receives the result of a login or logout. Called exactly once. `error` is NULL on success, and borrowed until the
 * callback returns.
 */
typedef void (*nj_login_done_fn)(void *context, const nj_error *error);

/**
 * Obtains a token as nj_client_log_in does, without blocking. `prompt` and `done` are called from nj_queue_poll.
 *
 * @param context passed to both callbacks unchanged; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release (nj_task_cancel cancels the login), or NULL:
 *         NJ_INVALID_ARGUMENT; NJ_INVALID_REQUEST if the client has no such login, or several and `scheme` is NULL;
 *         NJ_CLOSED; NJ_FORKED. `done` receives all other errors of nj_client_log_in.
 */
NJ_NEW nj_task *nj_client_start_log_in(nj_client *client, const char *scheme, double seconds, nj_queue *queue,
                                       nj_login_prompt_fn prompt, nj_login_done_fn done, void *context,
                                       nj_error **out_error);

/**
 * Logs out as nj_client_log_out does, without blocking. The client is logged out when this function returns. `done`
 * is called from nj_queue_poll when the store, the cache on disk and the cookie file have been changed, or with
 * NJ_STORAGE, NJ_TIMEOUT or NJ_CANCELLED as for nj_client_log_out.
 *
 * @param context passed to `done` unchanged; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release (nj_task_cancel ends the wait and does not undo the
 *         logout), or NULL: NJ_INVALID_ARGUMENT; NJ_INVALID_REQUEST as for nj_client_log_out; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_task *nj_client_start_log_out(nj_client *client, const char *scheme, bool clear_cookies, nj_queue *queue,
                                        nj_login_done_fn done, void *context, nj_error **out_error);

/**
 * Blocks this thread until the work in flight has ended, and closes the client. New calls, transfers, streams and logins
 * fail with NJ_CLOSED as soon as the function starts.
 *
 * Calls, batches, downloads, uploads, logins, and the saves of logins and logouts end by themselves. Event streams end
 * with NJ_CLOSED. WebSockets are closed with the code 1001. An outbox sends no further entries; they stay in its journal.
 * A call that waits for its hook in a script has not been sent yet, and fails with NJ_CLOSED. Other threads must poll the
 * queues of the calls, whose callbacks may be needed to end them. nj_client_free is still necessary.
 *
 * @param seconds 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @return NJ_OK; NJ_TIMEOUT: the remaining work was cancelled; NJ_CANCELLED if another thread frees the client;
 *         NJ_REENTRANT; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_drain(nj_client *client, double seconds, nj_error **out_error);

/** Receives the end of nj_client_start_drain. `error` is NULL on success, and borrowed until the callback returns. */
typedef void (*nj_drain_done_fn)(void *context, const nj_error *error);

/**
 * Starts to wait for the end of the work in flight, as nj_client_drain does, without blocking and without closing the
 * client. `done` may be called before the last callbacks of calls that have ended. After NJ_TIMEOUT, the remaining work
 * continues until nj_client_free, which cancels it.
 *
 * @param done    called once from nj_queue_poll: with NULL, NJ_TIMEOUT, or NJ_CANCELLED
 * @param context passed to `done` unchanged; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release (nj_task_cancel ends the wait; the client stays closed for
 *         new work), or NULL: NJ_INVALID_ARGUMENT; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_task *nj_client_start_drain(nj_client *client, double seconds, nj_queue *queue, nj_drain_done_fn done,
                                      void *context, nj_error **out_error);

/**
 * Changes the effect of certificate chains without a pinned key, for example to keep a program working whose pins are
 * out of date. The mode of a new client is NJ_PINNING_ENFORCE. A client without pins is not affected.
 *
 * The mode applies to connections that are opened after this function has returned. TLS sessions of another mode are
 * not resumed. If the mode becomes stricter, open connections to pinned hosts are not used for later calls.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_set_pinning(nj_client *client, nj_pinning mode);

/* nj_login_prompt: the prompt of an interactive login. Borrowed until nj_login_prompt_fn returns. Must be used only on
 * the thread that runs the callback. */

/**
 * Returns the page to open: on any device if there is a code, otherwise in a browser of this machine. NULL if `prompt`
 * is NULL.
 */
NJ_API const char *nj_login_prompt_url(const nj_login_prompt *prompt);

/** Returns the code to enter on the page. NULL if there is none. */
NJ_API const char *nj_login_prompt_user_code(const nj_login_prompt *prompt);

/** Returns the page with the code already entered, for a link or a QR code. NULL if there is none. */
NJ_API const char *nj_login_prompt_complete_url(const nj_login_prompt *prompt);

/* ==================================================================================================================
 * nj_task: a call, login, logout or event stream, in progress or finished
 *
 *   Created by   nj_client_start, nj_client_start_events, nj_client_start_log_in, nj_client_start_log_out,
 *                nj_client_start_drain, nj_resource_get, nj_resource_reload, nj_resource_mutate, nj_script_start_run,
 *                nj_script_start_invoke; nj_task_retain adds a reference
 *   Released by  nj_task_release
 *   Threads      any
 * ================================================================================================================== */

/** Adds a reference. NULL if `task` is NULL. */
NJ_API nj_task *nj_task_retain(nj_task *task);

/** Releases one reference. The task continues and its callbacks are still called. NULL is ignored. */
NJ_API void nj_task_release(nj_task *task);

/**
 * Cancels the task: it ends with NJ_CANCELLED. Does nothing if the task has ended, if `task` is NULL, and after fork.
 */
NJ_API void nj_task_cancel(nj_task *task);

/**
 * Reports whether the task's completion is in its queue or has been delivered. True if `task` is NULL, and after fork.
 */
NJ_API bool nj_task_is_finished(const nj_task *task);

/**
 * Returns the number of the task's call, as nj_prepared_request_call_id. 0 for tasks that are not calls, such as logins
 * and event streams, and if `task` is NULL.
 */
NJ_API int64_t nj_task_call_id(const nj_task *task);

/**
 * Calls the callbacks that are due in the task's queue, as nj_queue_poll does, until the completion callback of the task
 * has returned. Another thread may poll the queue meanwhile. nj_task_cancel on another thread ends the task, and then the
 * wait.
 *
 * @param seconds 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @return NJ_OK; NJ_TIMEOUT: the task continues; NJ_REENTRANT from inside a callback of the task's queue;
 *         NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_API nj_status nj_task_wait(nj_task *task, double seconds, nj_error **out_error);

/**
 * Pauses a call or an event stream: its callbacks are not called until nj_task_resume. An error or a cancellation ends
 * the pause. The function does not wait for a callback that is already running on another thread.
 *
 * The client stops reading from the network when it has buffered 256 KiB of a streamed response, and soon after the next
 * part of any other response. During the pause, the idle timeout does not run; the total timeout does. Does nothing for
 * other tasks, for a task that has ended, and if `task` is NULL.
 */
NJ_API void nj_task_pause(nj_task *task);

/** Resumes a paused task. Its callbacks are called in order. Does nothing if the task is not paused or `task` is NULL. */
NJ_API void nj_task_resume(nj_task *task);

/**
 * Calls the nj_read_fn of the task's body again after it has returned NJ_READ_LATER. May also be called while nj_read_fn
 * runs, before it returns NJ_READ_LATER. Does nothing otherwise, and if `task` is NULL.
 */
NJ_API void nj_task_resume_body(nj_task *task);

/* ==================================================================================================================
 * nj_canceller: cancels the calls of requests, also while nj_client_send blocks
 *
 *   Constructor  nj_canceller_new
 *   Destructor   nj_canceller_free
 *   Threads      any
 * ================================================================================================================== */

/** Creates a canceller for any number of requests. The caller frees it with nj_canceller_free. */
NJ_NEW nj_canceller *nj_canceller_new(void);

/** Frees the canceller. Requests and calls that use it remain valid and are not cancelled. NULL is ignored. */
NJ_API void nj_canceller_free(nj_canceller *canceller);

/**
 * Cancels all calls, transfers, event streams and WebSockets whose request has this canceller: they end with
 * NJ_CANCELLED. New ones end with NJ_CANCELLED at once. Does nothing the second time, and if `canceller` is NULL.
 *
 * @code
 *     static void fetch(nj_client *client, nj_error **error) {
 *       nj_canceller *canceller = nj_canceller_new();
 *       nj_request *request = nj_request_new("GET", "/v1/articles");
 *       nj_request_set_canceller(request, canceller);
 *       // Another thread can call nj_canceller_cancel(canceller) while nj_client_send blocks.
 *       nj_response *response = nj_client_send(client, request, error);
 *       nj_response_release(response);
 *       nj_request_free(request);
 *       nj_canceller_free(canceller);
 *     }
 * @endcode
 */
NJ_API void nj_canceller_cancel(nj_canceller *canceller);

/** Reports whether nj_canceller_cancel was called. False if `canceller` is NULL. */
NJ_API bool nj_canceller_is_cancelled(const nj_canceller *canceller);

/* ==================================================================================================================
 * nj_request: a request, and the callbacks of its calls
 *
 *   Constructor  nj_request_new, nj_request_copy, nj_request_from_endpoint
 *   Destructor   nj_request_free
 *   Threads      one at a time
 *
 * Sending copies the request: the program can change it, send it again or free it at any time. All callbacks run inside
 * nj_queue_poll of the call's queue, or inside the blocking call. Each borrows its `task` until it returns.
 * ================================================================================================================== */

/**
 * Creates a request.
 *
 * @param method a method in its exact case: "GET"
 * @param target an absolute http or https URL, or a path that is joined to the base URL. The target is checked when the
 *               request is sent (NJ_INVALID_URL).
 * @return a request, or NULL if `method` is not a token (RFC 9110 section 5.6.2), or an argument is NULL or not UTF-8
 */
NJ_NEW nj_request *nj_request_new(const char *method, const char *target);

/** Frees a request. Its calls continue. NULL is ignored. */
NJ_API void nj_request_free(nj_request *request);

/** Creates a copy of a request, with its callbacks and their contexts. NULL if `request` is NULL. */
NJ_NEW nj_request *nj_request_copy(const nj_request *request);

/* --- The values of a request. A text is borrowed until the request is changed or freed. --- */

/** Returns the method. NULL if `request` is NULL. */
NJ_API const char *nj_request_method(const nj_request *request);

/**
 * Returns the URL or the path that nj_request_new received, or the path of the endpoint, without parameters and query
 * items that were added later. Secrets are not masked. nj_response_url is the complete URL. NULL if `request` is NULL.
 */
NJ_API const char *nj_request_target(const nj_request *request);

/**
 * Returns the value of the first header of a name, as it was set. The client adds further headers when it sends the
 * request; see nj_config_on_request. Secrets are not masked. NULL: it is not set, or an argument is NULL.
 */
NJ_API const char *nj_request_header(const nj_request *request, const char *name);

/** Returns the number of headers that were set. Repeated names count separately. 0 if `request` is NULL. */
NJ_API size_t nj_request_header_count(const nj_request *request);

/** Returns the name of a header, in the order in which they were set. NULL beyond the last one. */
NJ_API const char *nj_request_header_name_at(const nj_request *request, size_t index);

/** Returns the value of a header, in the order in which they were set. NULL beyond the last one. */
NJ_API const char *nj_request_header_value_at(const nj_request *request, size_t index);

/**
 * Returns the body, and its length in bytes in `*out_length`, which may be NULL. NULL with the length 0: the request has
 * no body, or a form, a file or a stream, or `request` is NULL.
 */
NJ_API const char *nj_request_body(const nj_request *request, size_t *out_length);

/** Returns the timeout for connecting in seconds. NJ_NO_LIMIT (0): none. -1: the client's, or `request` is NULL. */
NJ_API double nj_request_connect_timeout(const nj_request *request);

/** Returns the idle timeout in seconds. NJ_NO_LIMIT (0): none. -1: the client's, or `request` is NULL. */
NJ_API double nj_request_idle_timeout(const nj_request *request);

/** Returns the timeout of the whole call in seconds. NJ_NO_LIMIT (0): none. -1: the client's, or `request` is NULL. */
NJ_API double nj_request_total_timeout(const nj_request *request);

/**
 * Sets the options that a JSON object names. The other options keep their values.
 *
 *   key                                   value
 *   ------------------------------------  ---------------------------------------------------------------------------
 *   headers                               an object of names and values
 *   expect                                a status, or a list of statuses: nj_request_expect_status
 *   schema                                nj_request_set_schema
 *   timeout                               seconds (total), or {"connect", "idle", "total"}; 0 and false: no limit
 *   max_body                              bytes, or "64KB", "20MB", "1GB"; 0 to "2GB"
 *   redirect                              true, false, a number, or {"max", "allow_downgrade"}
 *   decompress, compress,                 true or false
 *   expect_continue, allow_body_on_get,
 *   cookies, coalesce,
 *   respect_retry_after, allow_metered,
 *   allow_constrained
 *   wait_for_connectivity                 seconds; 0 and false: the call does not wait
 *   auth                                  true, false, the name of a security scheme, or a list of names
 *   graphql                               the text of a GraphQL query, or {"query", "variables", "operation_name",
 *                                         "extensions", "kind"}: nj_request_set_graphql. The kind is that of the
 *                                         operation: "query", "mutation", or "subscription" for nj_events
 *   retry                                 true, false, a number of attempts, or {"attempts", "base", "cap", "max_wait"}
 *   idempotency_key                       a key, true (generated) or false (none)
 *   idempotent                            true or false: nj_request_set_idempotent
 *   cache                                 "protocol", "reload", "revalidate", "cache_else_load", "cache_only",
 *                                         "offline_first"; false: NJ_CACHE_OFF; true: the client's policy
 *   cache_partition                       a text: nj_request_set_cache_partition
 *   limit_group                           a name
 *   invalidates                           a list of tags: nj_request_set_invalidates
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key (the message names the nearest known key), or a value of the
 *         wrong type or out of range; NJ_DECODING if `json` is not JSON; NJ_INVALID_REQUEST for a header that cannot
 *         be sent. On failure no option has changed.
 */
NJ_API nj_status nj_request_merge_json(nj_request *request, const char *json, size_t length, nj_error **out_error);

/**
 * Adds a name and a value to the query. Both are plain text, which is percent-encoded. Names may repeat; their order
 * is kept.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_add_query(nj_request *request, const char *name, const char *value);

/**
 * Sets a variable and makes the target a URI template (RFC 6570 up to level 3), such as "/users/{id}{?page}". The
 * call fails with NJ_INVALID_REQUEST if a variable outside the query has no value, the template does not have the
 * variable, or a value makes a path segment empty, "." or "..".
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_parameter(nj_request *request, const char *name, const char *value);

/**
 * Sets a header in place of all headers of the same name (set), or adds a header (add).
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_INVALID_REQUEST if the name or the value cannot be sent in a header, for
 *         example because it contains CR or LF
 */
NJ_API nj_status nj_request_set_header(nj_request *request, const char *name, const char *value);
NJ_API nj_status nj_request_add_header(nj_request *request, const char *name, const char *value);

/**
 * Adds a range of expected statuses. A response with an expected status is returned; any other status fails the call.
 * By default, the expected statuses are 200 to 299 and 304.
 *
 * @param lowest  100 to 999
 * @param highest `lowest` to 999
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_expect_status(nj_request *request, int lowest, int highest);

/**
 * Sets a timeout or the largest body in place of the client's: see nj_config_set_connect_timeout and
 * nj_config_set_max_body, whose ranges apply.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_connect_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_idle_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_total_timeout(nj_request *request, double seconds);
NJ_API nj_status nj_request_set_max_body(nj_request *request, size_t bytes);

/**
 * Sets whether the client's credentials are sent, including those in its headers and in its base URL. True by
 * default.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_use_auth(nj_request *request, bool use);

/**
 * Sets whether the client's cookies are sent and the response's cookies are stored. True by default. If a request has
 * its own Cookie header, the jar is not used; cookie parameters of the endpoint are added to this header.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_use_cookies(nj_request *request, bool use);

/**
 * Sets whether the response may be compressed and is decompressed, in place of the client's setting. If false, the
 * client adds no Accept-Encoding, and the body is returned with its content coding.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_decompress(nj_request *request, bool decompress);

/**
 * Sets a JSON Schema for the response body. A response that does not match fails the call with NJ_DECODING, and the
 * message names the path, what was expected and what was found. A response without a body matches. A call with a
 * schema and nj_request_on_body fails with NJ_INVALID_REQUEST.
 *
 * @param json   a JSON Schema 2020-12 without $dynamicRef and without $id as the base of references. Also nullable and
 *               discriminator (OpenAPI). The formats date-time, date, uuid, uri and email are checked. Need not end
 *               with NUL. NULL with a `length` of 0: no schema.
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT if `json` is not JSON, or for an unknown keyword or an invalid value (the message
 *         has its path)
 */
NJ_API nj_status nj_request_set_schema(nj_request *request, const char *json, size_t length, nj_error **out_error);

/* --- The body. Each function replaces the body that was set before. A GET or HEAD request with a body fails with
 * NJ_INVALID_REQUEST unless nj_request_set_allow_body_on_get allows it. --- */

/**
 * Sets the body to a copy of `length` bytes.
 *
 * @param bytes may be NULL if `length` is 0
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for more than 2 GiB; NJ_NO_MEMORY
 */
NJ_API nj_status nj_request_set_body(nj_request *request, const void *bytes, size_t length);

/**
 * Sets the body to a copy of a JSON text, which is sent without being checked. Its Content-Type is application/json,
 * unless the request or the client sets another.
 *
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for more than 2 GiB; NJ_NO_MEMORY
 */
NJ_API nj_status nj_request_set_body_json(nj_request *request, const char *json, size_t length);

/**
 * Makes the request a GraphQL operation (GraphQL over HTTP). A POST request gets a JSON body. A GET request gets query
 * items; it can only have a query, whose response can be cached.
 *
 * A query is retried like a GET request. A mutation is retried only with an idempotency key. A response without data is
 * the error NJ_GRAPHQL. A response with data and with errors is not an error: see the member "errors" of its JSON text.
 *
 * @param document         the operations and fragments
 * @param operation_name   the operation of `document`. NULL: its only operation
 * @param variables        a JSON object, which need not end with NUL. NULL: none. The variables are checked as far as
 *                         the operation describes them, and against `schema`
 * @param variables_length bytes of `variables`
 * @param schema           may be NULL; the request does not keep it
 * @return NJ_OK; NJ_INVALID_ARGUMENT with the position of a syntax error, with the name of a variable that does not
 *         fit, for a subscription, and for another method; NJ_DECODING if `variables` is not JSON; NJ_TOO_LARGE for
 *         more than 1 MiB. On failure the request has not changed.
 */
NJ_API nj_status nj_request_set_graphql(nj_request *request, const char *document, const char *operation_name,
                                        const char *variables, size_t variables_length,
                                        const nj_graphql_schema *schema, nj_error **out_error);

/**
 * Sets the body to the content of a file, which is read while it is sent. The file's name determines the Content-Type,
 * unless the request or the client sets one. The call fails with NJ_INVALID_REQUEST if the file cannot be read
 * or is a folder, a pipe or a device, and if the file becomes shorter while it is sent. The connection is then closed,
 * so that the server cannot mistake an incomplete body for a complete one. Bytes that are appended to the file while it
 * is sent are ignored.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_body_file(nj_request *request, const char *path);

/**
 * Sets the body to a part of a file, for example a part of a multipart upload to object storage. Otherwise, the function
 * behaves as nj_request_set_body_file does. Retries and redirects send the same part. The call fails with
 * NJ_INVALID_REQUEST before anything is sent if the part is not within the file.
 *
 * @param offset the first byte to send, counted from 0. If it equals the size of the file, the body is empty.
 * @param length the number of bytes to send; -1: up to the end of the file when the call starts
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a negative offset and for a length below -1
 */
NJ_API nj_status nj_request_set_body_file_range(nj_request *request, const char *path, int64_t offset, int64_t length);

/**
 * Sets the body to a copy of a form, sent as multipart/form-data. Files are read as by nj_request_set_body_file.
 *
 * @param form NULL: no body
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_INVALID_REQUEST for a part without a name, for a control character other than
 *         CR, LF and tab in the name or the file name of a part, and for a type that cannot be sent in a header
 */
NJ_API nj_status nj_request_set_body_form(nj_request *request, const nj_form *form, nj_error **out_error);

/**
 * Adds a field to an application/x-www-form-urlencoded body. Name and value are plain text, which is encoded. Names
 * may repeat; their order is kept. The first field replaces a body of another kind. The Content-Type is
 * application/x-www-form-urlencoded, unless the request or the client sets one.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for more than 2 GiB of fields; NJ_NO_MEMORY
 */
NJ_API nj_status nj_request_add_form_field(nj_request *request, const char *name, const char *value);

/** The value that nj_read_fn returns if the source of the body has failed. */
#define NJ_READ_FAILED ((int64_t)-1)

/** The value that nj_read_fn returns if the source has no data yet; see nj_task_resume_body. */
#define NJ_READ_LATER ((int64_t)-2)

/**
 * Writes the next part of a streamed body to `buffer`. Runs inside nj_queue_poll or the blocking call. The callback
 * may block.
 *
 * @param capacity bytes of `buffer`, more than 0
 * @return the number of bytes written, at most `capacity`; 0 at the end of the body; NJ_READ_LATER if the source has no
 *         data yet: `read` is called again after nj_task_resume_body; NJ_READ_FAILED if the source has failed. After
 *         NJ_READ_FAILED or a number out of range, the call fails with NJ_INVALID_REQUEST, and the connection is closed,
 *         so that the server cannot mistake the incomplete body for a complete one.
 */
typedef int64_t (*nj_read_fn)(void *context, nj_task *task, void *buffer, size_t capacity);

/**
 * Sets a body that is read while it is sent. Without nj_request_set_body_rewind, a call is not retried, redirected with
 * its body or repeated after a 401 once a part of the body has been read. If the server responds before it has received
 * the body, the callbacks of the response run between those of the body, and the rest of the body is still sent. If the
 * response ends first, the call ends, and the connection is closed.
 *
 * @param length  bytes of the body; -1 if the length is not known, to send the body in chunks
 * @param context passed to `read` unchanged; must stay valid until all calls of the request have ended
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a length below -1
 */
NJ_API nj_status nj_request_set_body_stream(nj_request *request, int64_t length, nj_read_fn read, void *context);

/**
 * Restarts a streamed body: the next call of nj_read_fn must return the first part again. Runs inside nj_queue_poll or
 * the blocking call.
 */
typedef void (*nj_rewind_fn)(void *context, nj_task *task);

/**
 * Sets the callback that restarts the streamed body for a retry, a redirect or the repetition of a request after a 401.
 * `rewind` receives the context of nj_request_set_body_stream. Call nj_request_set_body_stream first, because it
 * removes an earlier `rewind`.
 *
 * @param rewind NULL, the default: the body cannot be restarted
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a request without a streamed body
 */
NJ_API nj_status nj_request_set_body_rewind(nj_request *request, nj_rewind_fn rewind);

/**
 * Sets whether the body is sent with Content-Encoding: gzip. False by default. A body in memory is compressed only if
 * that makes it smaller. Files, multipart forms and streams are compressed while they are sent, and are sent without
 * Content-Length. The server must accept compressed requests. A call with its own Content-Encoding header fails with
 * NJ_INVALID_REQUEST.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_compress(nj_request *request, bool compress);

/**
 * Sets whether the client sends Expect: 100-continue and waits for the server's response before it sends the body. The
 * body is sent after one second without a response. By default the client does this for bodies of 1 MiB and more and
 * for bodies of unknown length, unless the idle timeout is one second or less.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_expect_continue(nj_request *request, bool expect);

/**
 * Sets whether a GET or a HEAD request may have a body. False by default, because servers and caches may ignore such
 * a body.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_allow_body_on_get(nj_request *request, bool allow);

/**
 * Sets the canceller of the calls, transfers, event streams and WebSockets of this request.
 *
 * @param canceller NULL, the default: none
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_canceller(nj_request *request, nj_canceller *canceller);

/* --- Callbacks of a call. Their contexts must stay valid until all calls of the request have ended. NULL, the default:
 * no callback. --- */

/**
 * Receives the head of the response before its body: `head` has the status, the headers, the URL, the connection's
 * properties and an empty body, and is borrowed until the callback returns. Not called for a response with an
 * unexpected status.
 */
typedef void (*nj_head_fn)(void *context, nj_task *task, const nj_response *head);

/**
 * Sets the callback for the head of the response. It is called only if the request also has a callback for the body,
 * lines, JSON values or events (nj_request_on_body, nj_request_on_line, nj_request_on_json, nj_request_on_event).
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_head(nj_request *request, nj_head_fn head, void *context);

/** Receives a part of the response body. `bytes` is borrowed until the callback returns. */
typedef void (*nj_body_fn)(void *context, nj_task *task, const void *bytes, size_t length);

/**
 * Sets the callback for the response body. The response itself then has an empty body. The client stops reading from
 * the network while more than 256 KiB wait for the callback. The body of a response with an unexpected status is not
 * passed to the callback: nj_error_response has it.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_body(nj_request *request, nj_body_fn body, void *context);

/**
 * Receives a line of the response body without its line end. `line` is UTF-8 without a NUL at its end, and is borrowed
 * until the callback returns.
 */
typedef void (*nj_line_fn)(void *context, nj_task *task, const char *line, size_t length);

/**
 * Sets the callback for the lines of the response body, and removes that of nj_request_on_body or nj_request_on_json. A
 * line ends with LF, CR or CRLF. The last line may have no line end. After nj_task_cancel, no further line is
 * delivered. Otherwise the callback behaves like nj_body_fn.
 *
 * The call fails with NJ_DECODING for a line that is not UTF-8 and with NJ_TOO_LARGE for a line that is too long
 * (nj_request_set_max_line). If it fails after the head of the response, nj_error_delivered returns the number of lines.
 *
 * @code
 *     static void print_line(void *context, nj_task *task, const char *line, size_t length) {
 *       (void)context, (void)task;
 *       printf("%.*s\n", (int)length, line);
 *     }
 *
 *     static void print_lines(nj_client *client, nj_error **error) {
 *       nj_request *request = nj_request_new("GET", "/lines/3");
 *       nj_request_on_line(request, print_line, NULL);
 *       nj_response_release(nj_client_send(client, request, error));
 *       nj_request_free(request);
 *     }
 * @endcode
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_line(nj_request *request, nj_line_fn line, void *context);

/**
 * Receives a JSON value of the response body. `value` is the response with this value as its body: read it with
 * nj_response_json_* or nj_response_body. Borrowed until the callback returns.
 */
typedef void (*nj_json_fn)(void *context, nj_task *task, const nj_response *value);

/**
 * Sets the callback for the JSON values of the response body, and removes that of nj_request_on_body or
 * nj_request_on_line. The body has one value on each line (application/x-ndjson and similar types), or is a JSON
 * sequence (application/json-seq, RFC 7464). Lines without a value are ignored. The call fails with NJ_DECODING for
 * a value that is not JSON and for an invalid sequence, and with NJ_TOO_LARGE for a value that is too long
 * (nj_request_set_max_line).
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_json(nj_request *request, nj_json_fn value, void *context);

/** Receives an event, which is borrowed until the callback returns. */
typedef void (*nj_event_fn)(void *context, const nj_event *event);

/**
 * Sets the callback for the events of a response that is an event stream (text/event-stream), and removes that of
 * nj_request_on_body, nj_request_on_line or nj_request_on_json. A response of another media type is returned with its
 * body, as without a callback: for APIs that choose between JSON and an event stream.
 *
 * The client does not connect again after the end of the response: see nj_events_new for streams that continue. If the
 * response breaks off, the call fails, nj_error_delivered returns the number of events, and the option last_event_id of
 * nj_events_new resumes after nj_event_id of the last one. The call fails with NJ_TOO_LARGE for an event that is too
 * large (nj_request_set_max_line).
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_event(nj_request *request, nj_event_fn event, void *context);

/**
 * Limits the length of a line, of a JSON value or of the data of an event of the response.
 *
 * @param bytes 1 to 2147483646; 1048576 by default
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_max_line(nj_request *request, size_t bytes);

/** The progress of the current attempt, in bytes of content. */
typedef struct nj_progress {
  int64_t sent;           /* bytes of the request body that have been sent */
  int64_t sent_total;     /* the length of the request body; -1 while the length is not known */
  int64_t received;       /* bytes of the response body that have been received, before decompression */
  int64_t received_total; /* the Content-Length of the response; -1 while the length is not known */
} nj_progress;

/** Receives the progress of a call. `progress` is borrowed until the callback returns. */
typedef void (*nj_progress_fn)(void *context, nj_task *task, const nj_progress *progress);

/**
 * Sets the callback for the progress of a call. It is called about ten times a second while the progress changes.
 * Reports are skipped while one waits in the queue. The final progress of a successful call is always reported; both
 * totals are then known.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_progress(nj_request *request, nj_progress_fn progress, void *context);

/**
 * Limits the redirects that the request follows. Replaces all redirect settings of the client, so that the request does
 * not follow redirects from https to http, unless nj_request_merge_json has set allow_downgrade.
 *
 * @param count 0 to 100. 0: a redirect is returned like any other response, and fails the call unless its status is
 *              expected (nj_request_expect_status).
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_max_redirects(nj_request *request, size_t count);

/** A decision about a redirect. Members may be added. */
typedef enum nj_redirect_action {
  NJ_REDIRECT_FOLLOW = 0,
  NJ_REDIRECT_STOP = 1, /* the redirect is the call's response, and an error unless its status is expected */
  NJ_REDIRECT_FAIL = 2  /* the call fails with NJ_CANCELLED */
} nj_redirect_action;

/**
 * Decides about a redirect before it is followed. A value that is not a member of nj_redirect_action has the effect of
 * NJ_REDIRECT_FAIL. The call waits for the decision, at most until the total timeout expires. `redirect` is borrowed
 * until the callback returns.
 */
typedef nj_redirect_action (*nj_redirect_fn)(void *context, nj_task *task, nj_proposed_redirect *redirect);

/**
 * Sets the callback that decides about redirects. It is called only for redirects that the settings allow. NULL, the
 * default: these redirects are followed.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_on_redirect(nj_request *request, nj_redirect_fn redirect, void *context);

/* nj_proposed_redirect: a redirect that is about to be followed. Borrowed, with its texts, until nj_redirect_fn returns.
 * Must be used only on the thread that runs the callback. */

/** Returns the status of the redirect. 0 if `redirect` is NULL. */
NJ_API int nj_proposed_redirect_status(const nj_proposed_redirect *redirect);

/** Returns the URL that the redirect came from. Secrets in its query are not masked. NULL if `redirect` is NULL. */
NJ_API const char *nj_proposed_redirect_source_url(const nj_proposed_redirect *redirect);

/** Returns the URL that the redirect leads to. Secrets in its query are not masked. NULL if `redirect` is NULL. */
NJ_API const char *nj_proposed_redirect_url(const nj_proposed_redirect *redirect);

/** Returns the method of the next request. NULL if `redirect` is NULL. */
NJ_API const char *nj_proposed_redirect_method(const nj_proposed_redirect *redirect);

/**
 * Replaces the URL that the redirect leads to. The credentials that are sent depend on the new URL.
 *
 * @param url an absolute URL, or a URL relative to nj_proposed_redirect_source_url. Used if the callback returns
 *            NJ_REDIRECT_FOLLOW. The call then fails with NJ_PROTOCOL if the URL cannot be followed.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_proposed_redirect_set_url(nj_proposed_redirect *redirect, const char *url);

/* ==================================================================================================================
 * nj_form: the parts of a multipart/form-data body (RFC 7578)
 *
 *   Constructor  nj_form_new
 *   Destructor   nj_form_free
 *   Threads      one at a time
 *
 * Parts are sent in the order in which they were added. Names may repeat and may be any UTF-8 text.
 * nj_request_set_body_form checks the names.
 * ================================================================================================================== */

/** Creates an empty form. Never NULL. */
NJ_NEW nj_form *nj_form_new(void);

/** Frees a form. Requests have their own copies. NULL is ignored. */
NJ_API void nj_form_free(nj_form *form);

/** Adds a text part. @return NJ_OK; NJ_INVALID_ARGUMENT */
NJ_API nj_status nj_form_add_text(nj_form *form, const char *name, const char *text);

/**
 * Adds a part with a copy of `length` bytes.
 *
 * @param filename     the file name that is sent; NULL: the part is not a file
 * @param content_type NULL: `filename` determines the type; a part without a file name then has no type
 * @param bytes        may be NULL if `length` is 0
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for more than 2 GiB; NJ_NO_MEMORY
 */
NJ_API nj_status nj_form_add_bytes(nj_form *form, const char *name, const char *filename, const char *content_type,
                                   const void *bytes, size_t length);

/**
 * Adds a part with the content of a file, which is read while the form is sent.
 *
 * @param filename     the file name that is sent; NULL: the last component of `path`
 * @param content_type NULL: the file name that is sent determines the type
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_form_add_file(nj_form *form, const char *name, const char *path, const char *filename,
                                  const char *content_type);

/* ==================================================================================================================
 * nj_response: a status, headers and a body
 *
 *   Created by   nj_client_send, nj_client_send_batch, nj_client_cache_get; nj_response_retain adds a reference
 *   Released by  nj_response_release
 *   Threads      any; a response is immutable
 *
 * Pointers that the getters return are valid until the response is released by its last owner.
 * ================================================================================================================== */

/** Adds a reference, for example to a response that a callback has borrowed. NULL if `response` is NULL. */
NJ_API nj_response *nj_response_retain(const nj_response *response);

/** Releases one reference. NULL is ignored. */
NJ_API void nj_response_release(nj_response *response);

/** Returns the status, 100 to 999. 0 if `response` is NULL. */
NJ_API int nj_response_status(const nj_response *response);

/** Returns the reason phrase, which is often empty. HTTP/2 has none. Use the status. NULL if `response` is NULL. */
NJ_API const char *nj_response_reason(const nj_response *response);

/** Returns the HTTP version: 10 for HTTP/1.0, 11 for HTTP/1.1, 20 for HTTP/2. 0 if `response` is NULL. */
NJ_API int nj_response_http_version(const nj_response *response);

/**
 * Returns the value of the first header of a name. Names are compared case-insensitively. Header and trailer values are
 * the server's bytes. They contain no control characters except tab, and are not always UTF-8.
 *
 * @return NULL if there is no such header, or if `response` is NULL
 */
NJ_API const char *nj_response_header(const nj_response *response, const char *name);

/** Returns the number of headers. 0 if `response` is NULL. */
NJ_API size_t nj_response_header_count(const nj_response *response);

/** Returns the name or the value of a header, in the order of arrival. NULL if `index` is out of range. */
NJ_API const char *nj_response_header_name_at(const nj_response *response, size_t index);
NJ_API const char *nj_response_header_value_at(const nj_response *response, size_t index);

/**
 * Returns the value of the first trailer (a field after the body) of a name. NULL if there is none, or if `response`
 * is NULL.
 */
NJ_API const char *nj_response_trailer(const nj_response *response, const char *name);

/** Returns the number of trailers. 0 if `response` is NULL. */
NJ_API size_t nj_response_trailer_count(const nj_response *response);

/** Returns the name or the value of a trailer, in the order of arrival. NULL if `index` is out of range. */
NJ_API const char *nj_response_trailer_name_at(const nj_response *response, size_t index);
NJ_API const char *nj_response_trailer_value_at(const nj_response *response, size_t index);

/**
 * Returns the body, followed by NUL.
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return never NULL for a response; NULL, with a length of 0, if `response` is NULL
 */
NJ_API const char *nj_response_body(const nj_response *response, size_t *out_length);

/**
 * Returns the body as UTF-8, followed by NUL. The body's charset is that of its byte order mark or its Content-Type
 * (UTF-8, ISO-8859-1, windows-1252, UTF-16); an unknown charset is read as UTF-8. Invalid bytes become U+FFFD.
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return never NULL for a response; NULL, with a length of 0, if `response` is NULL
 */
NJ_API const char *nj_response_text(const nj_response *response, size_t *out_length);

/**
 * Returns the URL that the response came from, without user info and with secrets in its query masked. NULL if
 * `response` is NULL.
 */
NJ_API const char *nj_response_url(const nj_response *response);

/** Returns where the response came from. NJ_SOURCE_NETWORK if `response` is NULL. */
NJ_API nj_source nj_response_source(const nj_response *response);

/**
 * Reports whether the call has started a background refresh of the cache entry that it returned. If true, the callback
 * of nj_request_on_refresh is called once. False without this callback, or if `response` is NULL.
 */
NJ_API bool nj_response_is_being_refreshed(const nj_response *response);

/** Returns the number of redirects that led to the response. 0 if `response` is NULL. */
NJ_API size_t nj_response_redirect_count(const nj_response *response);

/** Returns the status of a redirect, the first one at index 0. 0 if `index` is out of range. */
NJ_API int nj_response_redirect_status_at(const nj_response *response, size_t index);

/** Returns the URL that a redirect came from, masked as by nj_response_url. NULL if `index` is out of range. */
NJ_API const char *nj_response_redirect_url_at(const nj_response *response, size_t index);

/**
 * Returns how many times the client tried to send the request, including redirects and retries. A request that is sent
 * again because the server has closed an idle connection counts once. 0 if the cache responded without a request, or if
 * `response` is NULL.
 */
NJ_API size_t nj_response_attempts(const nj_response *response);

/**
 * Returns an explanation of the call for a person: the client's decisions, such as retries and their reasons, waits for
 * limits and tokens, shared exchanges, redirects and uses of the cache. Each decision has one line. The last line names
 * the connection of the last request, for example "HTTP/2, stream 5 of a reused connection to 127.0.0.1:443". The text
 * contains no secret.
 *
 * @return text that is valid until the response is released; NULL if `response` is NULL
 */
NJ_API const char *nj_response_explain(const nj_response *response);

/**
 * Returns an explanation of the call for a program: a JSON array of objects with decision, attempt, at (seconds since
 * the start of the call), text, and members that depend on the decision. The JSON contains no secret.
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return text that is valid until the response is released; NULL if `response` is NULL
 */
NJ_API const char *nj_response_explain_json(const nj_response *response, size_t *out_length);

/** Returns the Idempotency-Key that was sent. NULL if none was sent, or if `response` is NULL. */
NJ_API const char *nj_response_idempotency_key(const nj_response *response);

/**
 * Returns the curl command line, for a POSIX shell, that sends the same request. Binary content, and content above 4
 * KiB, is read from curl's standard input.
 *
 * @param show_secrets false: credentials are replaced by ***
 * @return NULL if the response does not belong to a call, or if `response` is NULL
 */
NJ_API const char *nj_response_curl(const nj_response *response, bool show_secrets);

/**
 * Returns the seconds from the start of the call to its end (total), to the assignment of a connection to its request
 * (sent), or to the arrival of the response head (first_byte). -1 if the event did not happen, or if `response` is
 * NULL.
 */
NJ_API double nj_response_time_total(const nj_response *response);
NJ_API double nj_response_time_sent(const nj_response *response);
NJ_API double nj_response_time_first_byte(const nj_response *response);

/**
 * Returns the seconds that the name lookup, the connection and the TLS handshake took, if a connection was opened for
 * this call. -1 for a step that did not happen, or if `response` is NULL.
 */
NJ_API double nj_response_time_dns(const nj_response *response);
NJ_API double nj_response_time_connect(const nj_response *response);
NJ_API double nj_response_time_tls(const nj_response *response);

/**
 * Returns the address and port of the peer: "127.0.0.1:8080", "[::1]:8080". NULL if there is none, or if `response`
 * is NULL.
 */
NJ_API const char *nj_response_peer_address(const nj_response *response);

/**
 * Returns the TLS connection on which the response arrived, as a JSON object:
 *
 *   version   "1.2" or "1.3"
 *   cipher    the cipher suite by its IANA name, such as "TLS_AES_128_GCM_SHA256"
 *   group     the key exchange, such as "X25519MLKEM768"; "" for a key exchange with the server's RSA key
 *   resumed   whether the connection has resumed a session of an earlier connection
 *   alpn      the protocol that the server has chosen; absent if the server has chosen none
 *   chain     the certificates that the server has sent, its own first, as objects: subject, issuer, names, not_before,
 *             not_after (seconds since 1970), key (such as "RSA 2048") and pin ("sha256/...")
 *
 * For a response from the cache, this is the connection of the last request that the call sent, for example to revalidate
 * the response.
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return a text that lives as long as the response; NULL without TLS, for a response from a mock, for a response from
 *         the cache if the call has sent no request, and if `response` is NULL
 */
NJ_API const char *nj_response_tls_json(const nj_response *response, size_t *out_length);

/** Reports whether the connection had served another call before. False if `response` is NULL. */
NJ_API bool nj_response_reused_connection(const nj_response *response);

/** Returns the identifier of the HTTP/2 stream. 0 for HTTP/1.1, for a cached response, and if `response` is NULL. */
NJ_API int32_t nj_response_stream_id(const nj_response *response);

/* --- The body as JSON. The body is parsed when the first of these functions is called. A JSON Pointer (RFC 6901) names
 * a part of the body, such as "/results/0/title"; "" names the whole body.
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/v1/articles/1");
 *     nj_response *response = nj_client_send(client, request, &error);
 *     const char *title;
 *     if (response && nj_response_json_string(response, "/title", &title, NULL, &error) == NJ_OK) puts(title);
 *     nj_response_release(response);
 *     nj_request_free(request);
 * @endcode
 * --- */

/** The type of a JSON value. Members may be added. */
typedef enum nj_json_type {
  NJ_JSON_NONE = 0, /* the pointer names nothing, or the body is not JSON */
  NJ_JSON_NULL = 1,
  NJ_JSON_BOOLEAN = 2,
  NJ_JSON_INTEGER = 3, /* signed or unsigned, 64 bits */
  NJ_JSON_NUMBER = 4,  /* any other number */
  NJ_JSON_STRING = 5,
  NJ_JSON_ARRAY = 6,
  NJ_JSON_OBJECT = 7
} nj_json_type;

/** Returns the type of a value. NJ_JSON_NONE if `response` is NULL, and for an invalid pointer. */
NJ_API nj_json_type nj_response_json_type(const nj_response *response, const char *pointer);

/**
 * Reads a value. Numbers are never truncated: 3.0 can be read as an integer; 3.5 and a number out of range cannot.
 *
 * @param out        receives the value; unchanged on failure. A string is borrowed from the response and ends with
 *                   NUL.
 * @param out_length receives the length of the string, which may contain NUL; may be NULL
 * @return NJ_OK; NJ_DECODING if the body is not JSON, or the value does not exist or has another type (the message
 *         names the path and both types); NJ_INVALID_ARGUMENT, also if `pointer` is not a JSON Pointer
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

/**
 * Reads the number of elements of an array or of members of an object. Parameters and errors are as for
 * nj_response_json_int64.
 */
NJ_API nj_status nj_response_json_count(const nj_response *response, const char *pointer, size_t *out,
                                        nj_error **out_error);

/**
 * Returns the name of a member of an object, in the order of the text.
 *
 * @param out_length receives the length of the name, which may contain NUL; may be NULL
 * @return NULL, with a length of 0, if `index` is out of range or the value is not an object
 */
NJ_API const char *nj_response_json_key_at(const nj_response *response, const char *pointer, size_t index,
                                           size_t *out_length);

/** Reads a value of any type as JSON text. Parameters and errors are as for nj_response_json_string. */
NJ_API nj_status nj_response_json_text(const nj_response *response, const char *pointer, const char **out,
                                       size_t *out_length, nj_error **out_error);

/* ==================================================================================================================
 * nj_batch: many calls, a few at a time
 *
 *   Created by   nj_client_start_batch; nj_batch_retain adds a reference
 *   Released by  nj_batch_release
 *   Threads      any
 * ================================================================================================================== */

/** A usual `concurrency` of a batch: browsers send this many concurrent requests to one host. */
#define NJ_BATCH_CONCURRENCY 6

/**
 * Sends requests, `concurrency` at a time and in their order, and blocks until all have ended. The requests'
 * callbacks run on this thread. A request may occur several times.
 *
 * If `collect_errors` is true, each request has its own result: either `out_responses[i]` or `out_errors[i]` is set,
 * and the other is NULL. If it is false, the first failure ends the batch: calls in flight are cancelled, no further
 * call is started, `out_error` receives the failure (see nj_error_batch_index), and every element of
 * `out_responses` is NULL.
 *
 * @param requests      `count` requests, which must not change before this function returns
 * @param concurrency   1 or more, such as NJ_BATCH_CONCURRENCY
 * @param out_responses an array of `count` elements, in the order of the requests; the caller releases each response
 * @param out_errors    an array of `count` elements; the caller releases each error. Required if `collect_errors`
 *                      is true.
 * @return NJ_OK if all calls have succeeded or `collect_errors` is true; otherwise the kind of the first failure.
 *         NJ_INVALID_ARGUMENT and NJ_FORKED, after which every element of both arrays is NULL
 */
NJ_API nj_status nj_client_send_batch(nj_client *client, const nj_request *const *requests, size_t count,
                                      size_t concurrency, bool collect_errors, nj_response **out_responses,
                                      nj_error **out_errors, nj_error **out_error);

/**
 * Receives the result of one request of a batch. Called exactly once for each request, in the order in which the
 * requests end. Exactly one of `response` and `error` is not NULL. Both are borrowed until the callback returns. After
 * a failure or nj_batch_cancel has ended the batch, requests that were not started fail with NJ_CANCELLED.
 */
typedef void (*nj_batch_done_fn)(void *context, nj_batch *batch, size_t index, const nj_response *response,
                                 const nj_error *error);

/**
 * Reports the end of a batch. Called exactly once, after all calls of nj_batch_done_fn.
 *
 * @param error borrowed until the callback returns. Without `collect_errors`, the failure that ended the batch.
 *              NJ_CANCELLED if nj_batch_cancel or nj_queue_free ended it. Otherwise NULL.
 */
typedef void (*nj_batch_finished_fn)(void *context, nj_batch *batch, const nj_error *error);

/**
 * Starts a batch without blocking; see nj_client_send_batch. Both callbacks are called from nj_queue_poll, one at a
 * time, and may start, cancel and free anything. The batch keeps the requests and the calls in flight in memory, but
 * not the results.
 *
 * @param requests copied, with their callbacks and contexts
 * @param done     NULL: only the end of the batch is reported
 * @param context  passed to both callbacks unchanged; must stay valid until `finished` has returned
 * @return a batch that the caller releases with nj_batch_release (releasing does not cancel), or NULL:
 *         NJ_INVALID_ARGUMENT, NJ_CLOSED, NJ_FORKED. If it returns NULL, no callback is called.
 */
NJ_NEW nj_batch *nj_client_start_batch(nj_client *client, const nj_request *const *requests, size_t count,
                                       size_t concurrency, bool collect_errors, nj_queue *queue, nj_batch_done_fn done,
                                       nj_batch_finished_fn finished, void *context, nj_error **out_error);

/** Adds a reference. NULL if `batch` is NULL. */
NJ_API nj_batch *nj_batch_retain(nj_batch *batch);

/** Releases one reference. The batch continues. NULL is ignored. */
NJ_API void nj_batch_release(nj_batch *batch);

/**
 * Cancels the calls in flight and starts no further call. Does nothing if the batch has ended, if `batch` is NULL, and
 * after fork.
 */
NJ_API void nj_batch_cancel(nj_batch *batch);

/** Reports whether all calls have ended. True if `batch` is NULL, and after fork. */
NJ_API bool nj_batch_is_finished(const nj_batch *batch);

/* ==================================================================================================================
 * nj_cookies: a cookie jar (RFC 6265bis)
 *
 *   Constructor  nj_cookies_new, nj_cookies_open; nj_client_cookies returns another handle of a client's jar
 *   Destructor   nj_cookies_free, once for each handle
 *   Threads      any; clients may share a jar
 *
 * Domains are checked against the system's public suffix list (libpsl).
 * ================================================================================================================== */

/** A cookie policy: the cookies that are stored and sent. Members may be added. */
typedef enum nj_cookie_policy {
  NJ_COOKIES_ALL = 0,
  NJ_COOKIES_FIRST_PARTY = 1 /* only cookies of the first request's site, not of other sites after redirects */
} nj_cookie_policy;

/** Creates an empty jar in memory. NULL for a policy that is not a member of nj_cookie_policy; see nj_error_last. */
NJ_NEW nj_cookies *nj_cookies_new(nj_cookie_policy policy);

/**
 * Opens a jar in an SQLite file, which is created if it does not exist and is readable by its owner only. Processes
 * may share the file; the last change of a cookie wins. All jars of a process for one file share its cookies.
 *
 * Changes are written about once a second, when a client that uses the jar is freed, and when the jar is freed. Session
 * cookies are not written, unless the option `cookies` of nj_config_merge_json asks for it: {"file": "...",
 * "keep_session": true}. A file that is damaged, or that a newer version of the library has written, is renamed to
 * `path`.damaged-TIME. If the disk is full or read-only, or another process locks the file for 5 seconds, the cookies
 * stay in memory and are written later. The clients log these failures.
 *
 * @return a jar that the caller frees with nj_cookies_free, or NULL: NJ_STORAGE if the file cannot be used, for example
 *         because its folder does not exist or it is another program's database; NJ_FORKED in the child of a process
 *         that has the file open; NJ_INVALID_ARGUMENT, also if the process has the file open with `keep_session`
 */
NJ_NEW nj_cookies *nj_cookies_open(const char *path, nj_cookie_policy policy, nj_error **out_error);

/** Frees a handle of a jar. The jar exists until no client and no handle uses it. NULL is ignored. */
NJ_API void nj_cookies_free(nj_cookies *cookies);

/**
 * Sets the jar in which clients keep cookies.
 *
 * @param cookies NULL, the default: clients keep no cookies. nj_client_new fails with NJ_FORKED for a jar of the
 *                parent process.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_cookies(nj_config *config, nj_cookies *cookies);

/**
 * Returns a handle of a client's jar; free it with nj_cookies_free. NULL without a jar, if `client` is NULL, and after
 * fork.
 */
NJ_NEW nj_cookies *nj_client_cookies(nj_client *client);

/**
 * Writes the cookies that are not in the file yet, and blocks until they are written. Waits about 5 seconds for another
 * process that locks the file.
 *
 * @return NJ_OK, also for a jar in memory; NJ_STORAGE if the file cannot be written now (the jar tries again later);
 *         NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_API nj_status nj_cookies_flush(nj_cookies *cookies, nj_error **out_error);

/**
 * Stores the cookie of a Set-Cookie header as if `url` had sent it.
 *
 * @param set_cookie the header's value: "name=value; Path=/; Secure"
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a cookie that RFC 6265bis rejects (the message says why);
 *         NJ_INVALID_URL; NJ_FORKED
 */
NJ_API nj_status nj_cookies_set(nj_cookies *cookies, const char *url, const char *set_cookie, nj_error **out_error);

/**
 * Deletes the cookies that match all given parameters. NULL matches everything. A domain does not match its
 * subdomains.
 *
 * @return the number of deleted cookies; 0 for a NULL jar, for text that is not UTF-8, and after fork
 */
NJ_API size_t nj_cookies_delete(nj_cookies *cookies, const char *name, const char *domain, const char *path);

/**
 * Deletes all cookies, also those that other processes have written to the file. Does nothing if `cookies` is NULL, and
 * after fork.
 */
NJ_API void nj_cookies_clear(nj_cookies *cookies);

/**
 * Adds the cookies of a cookies.txt file, the format of curl and of browser exports. Invalid lines are skipped.
 *
 * @param path        a file of at most 32 MiB
 * @param out_skipped receives the number of skipped lines on success; may be NULL
 * @return NJ_OK; NJ_STORAGE if the file cannot be read, is too large, or is a pipe or a device; NJ_INVALID_ARGUMENT;
 *         NJ_FORKED
 */
NJ_API nj_status nj_cookies_import(nj_cookies *cookies, const char *path, size_t *out_skipped, nj_error **out_error);

/**
 * Writes the cookies to a cookies.txt file that only its owner may read. On failure an existing file is unchanged.
 *
 * @return NJ_OK; NJ_STORAGE if the file cannot be written, or is a pipe or a device; NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_API nj_status nj_cookies_export(const nj_cookies *cookies, const char *path, nj_error **out_error);

/* ==================================================================================================================
 * nj_cookie_list: a snapshot of a cookie jar
 *
 *   Constructor  nj_cookies_list
 *   Destructor   nj_cookie_list_free
 *   Threads      any; a list is immutable
 * ================================================================================================================== */

/**
 * Creates a list of the cookies that have not expired, ordered by domain, path and name. NULL if `cookies` is NULL, and
 * after fork.
 */
NJ_NEW nj_cookie_list *nj_cookies_list(const nj_cookies *cookies);

/** Frees a list and the texts that its getters have returned. NULL is ignored. */
NJ_API void nj_cookie_list_free(nj_cookie_list *list);

/** Returns the number of cookies. 0 if `list` is NULL. */
NJ_API size_t nj_cookie_list_count(const nj_cookie_list *list);

/** Returns a property of a cookie. NULL if `index` is out of range. The value may be secret. */
NJ_API const char *nj_cookie_list_name_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_value_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_domain_at(const nj_cookie_list *list, size_t index);
NJ_API const char *nj_cookie_list_path_at(const nj_cookie_list *list, size_t index);

/** Returns the expiry in seconds since 1970. 0 for a session cookie, or if `index` is out of range. */
NJ_API double nj_cookie_list_expires_at(const nj_cookie_list *list, size_t index);

/** Reports whether the cookie is sent over https only. False if `index` is out of range. */
NJ_API bool nj_cookie_list_secure_at(const nj_cookie_list *list, size_t index);

/** Reports whether the cookie is hidden from scripts in web pages. False if `index` is out of range. */
NJ_API bool nj_cookie_list_http_only_at(const nj_cookie_list *list, size_t index);

/**
 * Returns "none", "lax", "strict", or "unspecified" if the server sent no SameSite. NULL if `index` is out of range.
 */
NJ_API const char *nj_cookie_list_same_site_at(const nj_cookie_list *list, size_t index);

/* ==================================================================================================================
 * nj_cache: an HTTP cache (RFC 9111)
 *
 *   Constructor  nj_cache_new, nj_cache_open; nj_client_cache returns another handle of a client's cache
 *   Destructor   nj_cache_free, once for each handle
 *   Threads      any; clients may share a cache
 *
 * The cache stores responses to GET and HEAD. The response to a POST is stored for later GET and HEAD requests if it
 * has an explicit lifetime and its Content-Location is the URL of the request (RFC 9110 section 9.3.3); a POST itself
 * always goes to the server. The cache is private: a response to a request with one credential is never returned to a
 * request with another credential or without one. Responses from the cache have the headers Age and Cache-Status (RFC
 * 9211). A cache never fails a call: if the disk is full, slow, damaged or read-only, the cache has fewer hits, and the
 * clients log the problem.
 * ================================================================================================================== */

/**
 * Creates a cache in memory.
 *
 * @param memory_bytes the size of all entries with their metadata; 0: the cache stores nothing in memory. A response
 *                     above 1 MiB, or above an eighth of `memory_bytes`, is not stored in memory.
 * @return never NULL
 */
NJ_NEW nj_cache *nj_cache_new(size_t memory_bytes);

/**
 * Creates a cache in memory and on disk. Processes may share the folder. The folder is created, readable by its owner
 * only, when the cache is first used; this function does not access the disk. The cache does not use a folder that a
 * newer version of the library has written.
 *
 * @param memory_bytes as for nj_cache_new
 * @param folder       NULL: "nightjar" in the user's cache folder (XDG_CACHE_HOME, otherwise ~/.cache)
 * @param disk_bytes   the size of all bodies on disk, more than 0. A response above an eighth of `disk_bytes` is not
 *                     stored on disk.
 * @return a cache that the caller frees with nj_cache_free, or NULL: NJ_INVALID_ARGUMENT, also if `folder` is NULL
 *         and the environment names no home folder
 */
NJ_NEW nj_cache *nj_cache_open(size_t memory_bytes, const char *folder, size_t disk_bytes, nj_error **out_error);

/** Frees a handle of a cache. The cache exists until no client and no handle uses it. NULL is ignored. */
NJ_API void nj_cache_free(nj_cache *cache);

/**
 * Sets the cache of clients.
 *
 * @param cache NULL, the default: clients have no cache. nj_client_new fails with NJ_FORKED for a cache of the parent
 *              process.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_cache(nj_config *config, nj_cache *cache);

/**
 * Returns a handle of a client's cache; free it with nj_cache_free. NULL without a cache, if `client` is NULL, and
 * after fork.
 */
NJ_NEW nj_cache *nj_client_cache(nj_client *client);

/**
 * A cache policy: how calls use the cache. "Any age" has two exceptions: entries with a status of 400 and above, and
 * entries that a write of the client (such as a PUT) has invalidated, are returned only as NJ_CACHE_PROTOCOL allows.
 * Members may be added.
 */
typedef enum nj_cache_policy {
  NJ_CACHE_PROTOCOL = 0,      /* RFC 9111: returns fresh entries and revalidates stale ones. The default. */
  NJ_CACHE_RELOAD = 1,        /* sends the request and stores the response */
  NJ_CACHE_REVALIDATE = 2,    /* also revalidates fresh entries, except those with `immutable` (RFC 8246) */
  NJ_CACHE_ELSE_LOAD = 3,     /* returns an entry of any age; otherwise sends the request */
  NJ_CACHE_ONLY = 4,          /* returns an entry of any age; otherwise fails with NJ_CACHE_MISS */
  NJ_CACHE_OFFLINE_FIRST = 5, /* returns an entry of any age at once; refreshes stale entries in the background */
  NJ_CACHE_OFF = 6            /* for requests only: neither reads nor writes the cache */
} nj_cache_policy;

/**
 * Sets how calls use the cache: all calls of the clients, or the calls of one request in place of the client's policy.
 * Without a cache the policy has no effect.
 *
 * @param policy NJ_CACHE_PROTOCOL by default; NJ_CACHE_OFF is for requests only
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_cache_policy(nj_config *config, nj_cache_policy policy);
NJ_API nj_status nj_request_set_cache_policy(nj_request *request, nj_cache_policy policy);

/**
 * Sets the partition of the cache, such as the name of a tenant. Calls with different partitions never share a cached
 * response or an exchange (nj_request_set_coalesce), even if their URLs and credentials are equal. Removals by URL,
 * origin or tag concern all partitions. The text is not sent and not stored; the cache stores a hash. To set the
 * partition of each call by a callback, call nj_prepared_request_set_cache_partition in the hook of
 * nj_config_on_request.
 *
 * @param partition copied; an empty text is a partition. NULL, the default: calls with equal credentials share responses.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_cache_partition(nj_request *request, const char *partition);

/**
 * Sets the cookies that identify a login. The cache stores the responses of each login separately, so that one login
 * never receives another's responses. The cache ignores other cookies, unless the server names Cookie in Vary.
 *
 * By default all cookies identify a login, except those known to come from load balancers, bot filters and analytics
 * (AWSALB, ARRAffinity, __cf_bm, _ga and others). If a response sets a new value for a login cookie and is itself fresh
 * (max-age, or Expires in the future), the new value identifies the same login. Any other new value identifies another
 * login. The cache keeps the known values until it is freed.
 *
 * Clients that share a cache should set the same names. Responses that one client stores without a login cookie are
 * returned to all clients without a login cookie.
 *
 * @param names cookie names, compared case-sensitively, followed by NULL; copied. "*": all cookies, each by its
 *              value. An empty list: no cookie identifies a login, for a cache of a single user. NULL: the default.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_login_cookies(nj_config *config, const char *const *names);

/**
 * Receives the result of a background refresh. Exactly one of `response` and `error` is not NULL. Both are borrowed
 * until the callback returns.
 */
typedef void (*nj_refreshed_fn)(void *context, const nj_response *response, const nj_error *error);

/**
 * Sets the callback for background refreshes. It is called from nj_queue_poll of `queue`, exactly once for each
 * response of this request's calls for which nj_response_is_being_refreshed is true (NJ_CACHE_OFFLINE_FIRST, or
 * stale-while-revalidate of the server). A call does not refresh an entry that another call is refreshing. A response
 * with an unexpected status is reported as an error, but replaces the stored response if it may be stored.
 *
 * With the queue of nj_client_start, `refreshed` is called after `done`. With another queue it may be called before
 * `done`, or before nj_client_send returns. The call's total timeout starts again for the refresh; without a total
 * timeout, the refresh may take five minutes. nj_task_cancel does not end the refresh. Freeing the client or the queue
 * ends it with NJ_CANCELLED.
 *
 * @param queue     kept alive by the request and its calls; may be NULL if `refreshed` is NULL
 * @param refreshed NULL, the default: stale entries are refreshed without a callback
 * @param context   passed to `refreshed` unchanged; must stay valid until the calls have ended and `refreshed` has
 *                  returned for each response that is being refreshed
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_FORKED for a queue of the parent process
 */
NJ_API nj_status nj_request_on_refresh(nj_request *request, nj_queue *queue, nj_refreshed_fn refreshed, void *context);

/**
 * Returns the cached response that a request would receive with NJ_CACHE_ONLY, without sending the request. By default,
 * every status is expected. Blocks while the disk is read and while a token refresh is in progress. The client's hooks
 * are called inside this function; the request's callbacks are not called.
 *
 * @param request a GET or HEAD without a body
 * @return a response that the caller releases with nj_response_release. NULL without an error if there is none.
 *         NULL with an error: NJ_INVALID_REQUEST if the client has no cache, or the request is not a GET or HEAD
 *         without a body; if the request has expected statuses (nj_request_expect_status), the kind of any other
 *         status; other errors of nj_client_send, such as the status of a before hook or NJ_UNAUTHORIZED without a login
 */
NJ_NEW nj_response *nj_client_cache_get(nj_client *client, const nj_request *request, nj_error **out_error);

/**
 * Stores a response as if a server had just sent it. The headers determine how long the response is fresh. If they give
 * no lifetime, a response with a status below 400 is stored for policies that accept entries of any age.
 *
 * @param request a GET without a body
 * @param status  100 to 999
 * @param headers name, value, name, value, ..., NULL. NULL: no headers.
 * @param body    copied; may be NULL if `length` is 0
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the response must not be stored (RFC 9111 section 3; the message says
 *         why); NJ_INVALID_REQUEST if the client has no cache or a header cannot be sent; NJ_TOO_LARGE if the cache
 *         cannot store a body of this size or the disk is full; other errors of nj_client_send, such as the status of
 *         a before hook or NJ_UNAUTHORIZED without a login
 */
NJ_API nj_status nj_client_cache_put(nj_client *client, const nj_request *request, int status, const char *const *headers,
                                  const void *body, size_t length, nj_error **out_error);

/**
 * Removes stored responses of all callers from memory and disk: those of one absolute URL (nj_cache_remove), those
 * whose URL begins with the bytes of `prefix`, such as "https://api.example/v1/" (nj_cache_remove_prefix), or all
 * (nj_cache_clear). Secrets in URLs on disk are masked, so nj_cache_remove_prefix does not compare their values there. A
 * response whose request was sent before the removal is not stored afterwards. Other processes and other caches of the
 * same folder stop returning the removed responses within one second.
 *
 * Blocks for up to 5 seconds if another process holds the index on disk.
 *
 * @param out_count receives the number of removed responses, 0 on failure; may be NULL
 * @return NJ_OK; NJ_STORAGE if the responses could not be removed from the disk: they are removed from memory, and
 *         the cache tries the removal again until it is freed; NJ_INVALID_URL for `url`; NJ_INVALID_ARGUMENT, also for
 *         an empty `prefix`; NJ_FORKED
 */
NJ_API nj_status nj_cache_remove(nj_cache *cache, const char *url, size_t *out_count, nj_error **out_error);
NJ_API nj_status nj_cache_remove_prefix(nj_cache *cache, const char *prefix, size_t *out_count, nj_error **out_error);
NJ_API nj_status nj_cache_clear(nj_cache *cache, size_t *out_count, nj_error **out_error);

/**
 * Blocks until all responses, invalidations and removals are on disk. nj_client_free does the same and logs a
 * failure.
 *
 * @return NJ_OK, also for a cache without a disk, and if the disk did not accept a response (which is logged);
 *         NJ_STORAGE if an invalidation or a removal could not be written, because the disk fails or another process
 *         has held the index for 5 seconds: other processes may then return responses that are no longer valid;
 *         NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_API nj_status nj_cache_flush(nj_cache *cache);

/** A statistic of a cache. The first five count from the creation of the cache. Members may be added. */
typedef enum nj_cache_statistic {
  NJ_CACHE_STATISTIC_HITS = 0,           /* calls that received an entry that no 304 has confirmed for this call */
  NJ_CACHE_STATISTIC_STALE = 1,          /* hits that received a stale entry */
  NJ_CACHE_STATISTIC_MISSES = 2,         /* calls that received the server's response */
  NJ_CACHE_STATISTIC_VALIDATIONS = 3,    /* calls whose entry the server has confirmed (304) */
  NJ_CACHE_STATISTIC_BYTES_SAVED = 4,    /* bytes of content that came from the cache */
  NJ_CACHE_STATISTIC_MEMORY_ENTRIES = 5, /* entries in memory now */
  NJ_CACHE_STATISTIC_MEMORY_BYTES = 6,   /* the size of the entries in memory, with metadata */
  NJ_CACHE_STATISTIC_DISK_ENTRIES = 7,   /* entries on disk now, of all processes; blocks for the disk */
  NJ_CACHE_STATISTIC_DISK_BYTES = 8      /* the size of the bodies on disk; blocks for the disk */
} nj_cache_statistic;

/**
 * Returns a statistic. -1 for a number that is not a member of nj_cache_statistic, for a NULL cache, and after fork.
 */
NJ_API int64_t nj_cache_statistics(const nj_cache *cache, nj_cache_statistic statistic);

/* ==================================================================================================================
 * nj_catalog: the endpoints of an API, by name
 *
 *   Constructor  nj_catalog_new, nj_catalog_load_file, nj_client_load_catalog, nj_client_catalog
 *   Destructor   nj_catalog_free
 *   Threads      any
 *
 * An endpoint has a path, parameters, request bodies and responses. A request of an endpoint takes arguments by the
 * names of its parameters. The arguments are checked when the request is sent: a missing, unknown or ill-typed argument
 * fails the call with NJ_INVALID_REQUEST before anything is sent, and the message names the endpoint, the parameter and
 * the nearest known name.
 *
 * @code
 *     nj_catalog *catalog = nj_client_load_catalog(client, "url:/openapi.json", &error);
 *     nj_request *request = nj_request_from_endpoint(catalog, "list_users", &error);
 *     nj_request_set_argument(request, "per_page", "3");
 *     nj_response *response = request ? nj_client_send(client, request, &error) : NULL;
 *     if (response) puts(nj_response_url(response));
 *     nj_response_release(response);
 *     nj_request_free(request);
 *     nj_catalog_free(catalog);
 * @endcode
 * ================================================================================================================== */

/** Creates an empty catalog. Never NULL. */
NJ_NEW nj_catalog *nj_catalog_new(void);

/**
 * Reads an OpenAPI document (3.0 or 3.1, JSON or YAML) and the files that it refers to in its folder and below. A
 * Swagger 2.0 document is converted. Parts that cannot be converted, and parts that refer to other files, are skipped
 * with a note (nj_catalog_json). The option openapi_folder of nj_config_merge_json names another folder, for the option
 * openapi and for nj_client_load_catalog.
 *
 * @param path the path of a file
 * @return a catalog that the caller frees with nj_catalog_free, or NULL: NJ_STORAGE if the file cannot be read;
 *         NJ_DECODING if it is neither JSON nor YAML (the message names the place); NJ_TOO_LARGE if the document and
 *         those that it refers to exceed a limit; NJ_INVALID_ARGUMENT, also if it is not an OpenAPI document of
 *         version 3 or a Swagger document of version 2.0; NJ_NO_MEMORY
 */
NJ_NEW nj_catalog *nj_catalog_load_file(const char *path, nj_error **out_error);

/**
 * Reads an OpenAPI document from a file or a URL, and the documents that it refers to. Documents at URLs are requested
 * like any call of the client, with its cache and its credentials. Blocks; the callbacks of the client's configuration
 * run on this thread.
 *
 * @param location the path of a file, an absolute URL, or "url:" and a target that is joined to the base URL:
 *                 "url:/openapi.json"
 * @return a catalog that the caller frees with nj_catalog_free, or NULL: any error of nj_client_send and
 *         nj_catalog_load_file
 */
NJ_NEW nj_catalog *nj_client_load_catalog(nj_client *client, const char *location, nj_error **out_error);

/**
 * Returns a copy of a client's catalog; free it with nj_catalog_free. NULL without one, if `client` is NULL, and after
 * fork.
 */
NJ_NEW nj_catalog *nj_client_catalog(nj_client *client);

/**
 * Frees a catalog and the texts that its getters have returned. Requests and clients have their own copies. NULL is
 * ignored.
 */
NJ_API void nj_catalog_free(nj_catalog *catalog);

/**
 * Adds an endpoint from a JSON object, of which only the path is required:
 *
 *     {"path": "/articles/{id}", "method": "GET",
 *      "parameters": {"id": "integer", "page": {"type": "integer", "default": 1}, "X-Trace": {"in": "header"}},
 *      "body": {"type": "object"}, "response": {"type": "object"}, "response_validation": "off",
 *      "requires_auth": false, "security": ["apiKey", {"oauth": ["read"]}], "idempotent": true, "cache": "reload",
 *      "timeout": 5, "pagination": {"style": "cursor", "items": "/results", "next": "/next_cursor", "key": "/id"},
 *      "summary": "One article", "documentation": "...", "deprecated": true, "tags": ["articles"]}
 *
 *   parameters           for each name, the name of a type, or an object of JSON Schema keywords and of: in ("path",
 *                        "query", "header", "cookie"), required, default, style and explode (OpenAPI 3.1 section
 *                        4.8.12), allow_reserved, documentation, deprecated, example. A parameter is in the path if the
 *                        path has its name in braces, otherwise in the query
 *   body                 a JSON Schema; the body is then required. Also {"schema", "content_type", "required": false}
 *   response             the JSON Schema of the response
 *   response_validation  "off" (default), "warn" (logged) or "error" (NJ_DECODING)
 *   server               an absolute URL, in place of the base URL
 *   requires_auth        true: the call fails if there are neither credentials nor a cookie jar. false: no credentials
 *                        of the client are sent
 *   security             security requirements as in OpenAPI; one of them is enough
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key (the message names the nearest known key), a wrong type, and
 *         a name that is in use; NJ_DECODING if `json` is not JSON
 */
NJ_API nj_status nj_catalog_add_json(nj_catalog *catalog, const char *name, const char *json, size_t length,
                                     nj_error **out_error);

/**
 * Sets the endpoints of clients to a copy of a catalog. The catalog's first server is the base URL if none is set. If
 * the catalog's document describes how to log in, the credentials of nj_config_set_auth_json need no type:
 * {"token": "..."}. If the document has several schemes, the JSON names one ({"scheme": "ApiKeyAuth", "key": "..."}) or
 * several of them ({"schemes": {"ApiKeyAuth": {"key": "..."}}}).
 *
 * @param catalog NULL, the default: no endpoints
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_config_set_catalog(nj_config *config, nj_catalog *catalog);

/** Returns the number of endpoints. 0 if `catalog` is NULL. */
NJ_API size_t nj_catalog_count(const nj_catalog *catalog);

/** Returns the name of an endpoint, in the order of the description. NULL if `index` is out of range. */
NJ_API const char *nj_catalog_name_at(const nj_catalog *catalog, size_t index);

/**
 * Returns an endpoint as a JSON object: name, method, path, server, summary, documentation, tags, deprecated, idempotent,
 * requires_auth, security (a list of alternatives: scopes by scheme), pagination (the style), parameters (each with
 * name, in, required, type, enum, default, style, explode, documentation, deprecated, example), body (required,
 * content_types, documentation, example), responses (each with status, content_types, documentation), and unchecked (the
 * parts of the schemas that are not checked).
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return text that is valid until the catalog is freed. NULL if there is no such endpoint, or if `catalog` is NULL.
 */
NJ_API const char *nj_catalog_endpoint_json(const nj_catalog *catalog, const char *name, size_t *out_length);

/**
 * Returns the catalog as a JSON object: title, version, documentation, servers, tags, security (names of schemes),
 * scopes (the OAuth 2.0 scopes of the endpoints, by scheme), endpoints (names), and notes (the parts of a document
 * that were skipped, and why).
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return text that is valid until the catalog is freed. NULL if `catalog` is NULL.
 */
NJ_API const char *nj_catalog_json(const nj_catalog *catalog, size_t *out_length);

/**
 * Creates a request of an endpoint, with the endpoint's method and target. Arguments are set with
 * nj_request_set_argument. The body and all other properties can be set as for any request.
 *
 * @return a request that the caller frees with nj_request_free, or NULL: NJ_INVALID_REQUEST if there is no such
 *         endpoint (the message names the nearest name); NJ_INVALID_ARGUMENT
 */
NJ_NEW nj_request *nj_request_from_endpoint(const nj_catalog *catalog, const char *name, nj_error **out_error);

/**
 * Sets the argument of a parameter, in place of an earlier argument. The name is checked when the request is sent. If
 * the path and the query both have a parameter "id", "path.id" and "query.id" name one of them.
 *
 * @param value text. It is converted to a number, a boolean, an array or an object if the parameter has this type and
 *              the text is JSON of this type. NULL: removes the argument.
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a request without an endpoint
 */
NJ_API nj_status nj_request_set_argument(nj_request *request, const char *name, const char *value);

/**
 * Sets the argument of a parameter to a JSON value, in place of an earlier argument.
 *
 * @param json   need not end with NUL; the JSON value null (not a NULL pointer) removes the argument
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a request without an endpoint; NJ_DECODING if `json` is not JSON
 */
NJ_API nj_status nj_request_set_argument_json(nj_request *request, const char *name, const char *json, size_t length,
                                              nj_error **out_error);

/**
 * Sets the body to a value that is encoded as the endpoint requires: as JSON, as a form or as multipart. The value is
 * checked against the endpoint's schema when the request is sent.
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a request without an endpoint; NJ_DECODING if `json` is not JSON
 */
NJ_API nj_status nj_request_set_argument_body_json(nj_request *request, const char *json, size_t length,
                                                   nj_error **out_error);

/* ==================================================================================================================
 * nj_pagination: the rules for the next page of a list
 *
 *   Constructor  nj_pagination_new
 *   Destructor   nj_pagination_free
 *   Threads      one at a time
 * ================================================================================================================== */

/** A pagination style: how the request for the next page is made. Members may be added. */
typedef enum nj_pagination_style {
  NJ_PAGINATION_GUESS = 0,  /* detected from the first response; nj_paginator_explanation describes the result */
  NJ_PAGINATION_PAGE = 1,   /* ?page=2 */
  NJ_PAGINATION_OFFSET = 2, /* ?offset=20. Items can be missed if others are deleted between two pages. */
  NJ_PAGINATION_CURSOR = 3, /* ?cursor=..., an opaque text from the previous response */
  NJ_PAGINATION_LINK = 4,   /* a Link header with rel=next (RFC 8288) */
  NJ_PAGINATION_NEXT = 5,   /* the URL of the next page in the body */
  NJ_PAGINATION_HEADER = 6, /* a token, or the URL of the next page, in a response header */
  NJ_PAGINATION_CUSTOM = 7  /* after each page, nj_paginator_set_next_url sets the next one */
} nj_pagination_style;

/** Creates pagination rules. NULL for a style that is not a member of nj_pagination_style; see nj_error_last. */
NJ_NEW nj_pagination *nj_pagination_new(nj_pagination_style style);

/** Frees pagination rules. Paginators have their own copies. NULL is ignored. */
NJ_API void nj_pagination_free(nj_pagination *pagination);

/**
 * Sets the place of the items in the response (items), of the cursor or URL of the next page in the response (next), or
 * of the unique key in an item (key). Items with a key that has occurred before are skipped.
 *
 * @param pointer a JSON Pointer (RFC 6901): "/results", "/next_cursor", "/id". NULL, the default: detected (items,
 *                next), or no key.
 * @return NJ_OK; NJ_INVALID_ARGUMENT if `pointer` is not a JSON Pointer
 */
NJ_API nj_status nj_pagination_set_items(nj_pagination *pagination, const char *pointer);
NJ_API nj_status nj_pagination_set_next(nj_pagination *pagination, const char *pointer);
NJ_API nj_status nj_pagination_set_key(nj_pagination *pagination, const char *pointer);

/**
 * Limits how long the list may take, from the request for its first page. Without a limit, only the timeouts of the
 * single calls apply. If a server asks for a pause (429 or 503 with Retry-After), the paginator waits at most until the
 * limit; without a limit, at most an hour for each page.
 *
 * @param seconds 0 to 3153600000; NJ_NO_LIMIT (0, the default) and INFINITY: no limit
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_pagination_set_total_timeout(nj_pagination *pagination, double seconds);

/**
 * Sets the rules that a JSON object names. The other rules keep their values.
 *
 *   key               value
 *   ----------------  -----------------------------------------------------------------------------------------------
 *   style             "guess", "page", "offset", "cursor", "link", "next", "header" or "custom"
 *   items, next, key  JSON Pointers, as for the setters above
 *   param             the query parameter that selects a page
 *   size_param, size  the query parameter for the page size, and its value (1 to 10000000)
 *   first             the number of the first page, 0 to 2147483647
 *   header            the response header with the token or the URL
 *   next_header       the response header with the URL of the next page, also a relative one; implies the style "header"
 *   request_header    the request header for the token
 *   item              JSON Pointer to the item within an element of the list; default: the element
 *   body_param        JSON Pointer into the JSON body of the requests that selects a page, instead of param
 *   more, total       JSON Pointers to a boolean that is true if there are more items, and to the number of items
 *   prefetch          pages that are loaded ahead, 0 to 64; 1 by default
 *   max_pages         1 or more; 100000 by default
 *   max_items         1 or more; 10000000 by default
 *   allow_origins     other origins that a next page may have; they receive no credentials
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return NJ_OK; NJ_INVALID_ARGUMENT for an unknown key or a wrong value; NJ_DECODING if `json` is not JSON. On
 *         failure no rule has changed.
 */
NJ_API nj_status nj_pagination_merge_json(nj_pagination *pagination, const char *json, size_t length,
                                          nj_error **out_error);

/**
 * Sets the rules for a connection of a GraphQL query: a list in pages (GraphQL Cursor Connections Specification). The
 * query selects pageInfo { endCursor hasNextPage } and nodes or edges of the list, and sets its argument after to a
 * variable. The items of the list are the nodes. Use nj_request_set_graphql with the same arguments for its POST request.
 *
 * @param operation_name the operation of `document`. NULL: its only operation
 * @param at             JSON Pointer (RFC 6901) to the connection within the data. NULL: the only connection
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if there is no such connection; NJ_TOO_LARGE
 */
NJ_API nj_status nj_pagination_set_graphql(nj_pagination *pagination, const char *document, const char *operation_name,
                                           const char *at, nj_error **out_error);

/* ==================================================================================================================
 * nj_graphql_schema: the types of a GraphQL service, against which variables are checked
 *
 *   Constructors  nj_graphql_schema_new, nj_client_load_graphql_schema
 *   Destructor    nj_graphql_schema_free
 *
 * A schema is immutable. Any thread may use it.
 * ================================================================================================================== */

/**
 * Reads the JSON text of the response to an introspection query.
 *
 * @param json   need not end with NUL
 * @param length bytes of `json`
 * @return a schema, or NULL: NJ_DECODING if the text has no schema; NJ_INVALID_ARGUMENT; NJ_NO_MEMORY
 */
NJ_NEW nj_graphql_schema *nj_graphql_schema_new(const char *json, size_t length, nj_error **out_error);

/**
 * Loads the schema of a service from a file, or with an introspection query. Blocks the thread while it sends the query.
 * Many servers allow introspection only during development.
 *
 * @param target  the URL of the service, or a path that is joined to the base URL
 * @param file    the path of the file, which is written after the query, accessible only to its owner. NULL: a file for
 *                the URL in nightjar/graphql in the user's cache directory (XDG_CACHE_HOME, otherwise ~/.cache), which is
 *                ignored if it cannot be accessed. "": no file
 * @param max_age the age in seconds after which the file is replaced, 0 to 3153600000
 * @return a schema, or NULL: the errors of nj_client_send; NJ_DECODING if the response has no schema; NJ_STORAGE if the
 *         file at `file` cannot be read or written; NJ_INVALID_ARGUMENT
 */
NJ_NEW nj_graphql_schema *nj_client_load_graphql_schema(nj_client *client, const char *target, const char *file,
                                                        double max_age, nj_error **out_error);

/** Frees a schema. NULL is ignored. */
NJ_API void nj_graphql_schema_free(nj_graphql_schema *schema);

/* ==================================================================================================================
 * nj_paginator: reads a list page by page
 *
 *   Constructor  nj_paginator_new
 *   Destructor   nj_paginator_free
 *   Threads      one at a time, except nj_paginator_cancel: any
 *
 * The next page is loaded while the current one is used. For example, a response that does not fit the style and more
 * pages or items than the limits allow are errors, not the end of the list. After most errors, the program may continue:
 * the next call requests the failed page again.
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/v1/articles");
 *     nj_paginator *paginator = nj_paginator_new(client, request, NULL, NULL, &error);
 *     const char *item;
 *     int count = 0;
 *     while (paginator && count < 30 && nj_paginator_next_item(paginator, &item, NULL, &error) == NJ_NEXT_FOUND) {
 *       puts(item);
 *       count++;
 *     }
 *     nj_paginator_free(paginator);
 *     nj_request_free(request);
 * @endcode
 * ================================================================================================================== */

/**
 * Creates a paginator. Nothing is requested yet.
 *
 * @param request    the request for the first page, copied; the requests for other pages are derived from it. Its
 *                   callbacks are not called.
 * @param pagination copied; NULL: the rules of the request's endpoint, otherwise NJ_PAGINATION_GUESS
 * @param state      where to continue: a text of nj_paginator_state or nj_page_state for the same request and rules,
 *                   also from another process. NULL: at the beginning.
 * @return a paginator that the caller frees with nj_paginator_free, or NULL: NJ_INVALID_ARGUMENT for rules that
 *         contradict each other and for a state of another list; NJ_INVALID_URL or NJ_INVALID_REQUEST for the request;
 *         NJ_FORKED
 */
NJ_NEW nj_paginator *nj_paginator_new(nj_client *client, const nj_request *request, const nj_pagination *pagination,
                              const char *state, nj_error **out_error);

/**
 * Frees a paginator and cancels its requests. Pending callbacks of nj_paginator_start_next_page are still called. NULL
 * is ignored.
 */
NJ_API void nj_paginator_free(nj_paginator *paginator);

/** The result of a request for the next item or page. Members may be added. */
typedef enum nj_next_status {
  NJ_NEXT_FAILED = -1, /* `out_error` has the error */
  NJ_NEXT_END = 0,     /* the list has ended */
  NJ_NEXT_FOUND = 1
} nj_next_status;

/**
 * Returns the next item. Blocks until its page has been loaded.
 *
 * @param out_json   receives the item's JSON text, followed by NUL and valid until the next call for this paginator.
 *                   NULL unless the result is NJ_NEXT_FOUND. May be NULL.
 * @param out_length receives the length without NUL; may be NULL
 * @return NJ_NEXT_FOUND; NJ_NEXT_END; NJ_NEXT_FAILED with any error of nj_client_send, with NJ_DECODING or NJ_PROTOCOL
 *         for a response that does not fit the rules, with NJ_TOO_LARGE beyond max_pages or max_items, with NJ_TIMEOUT,
 *         or with NJ_FORKED
 */
NJ_API nj_next_status nj_paginator_next_item(nj_paginator *paginator, const char **out_json, size_t *out_length,
                                             nj_error **out_error);

/**
 * Returns the next page. Blocks until the page has been loaded. Items of the current page that nj_paginator_next_item
 * has not returned are skipped. Pages without items are returned too, except the empty page that ends a list of style
 * page or offset, and a last page that the server repeats.
 *
 * @param out_page receives a page that the caller frees with nj_page_release. NULL unless the result is NJ_NEXT_FOUND.
 *                 Required.
 * @return as for nj_paginator_next_item
 */
NJ_API nj_next_status nj_paginator_next_page(nj_paginator *paginator, nj_page **out_page, nj_error **out_error);

/**
 * Receives a page, an error, or neither at the end of the list. Called exactly once for each
 * nj_paginator_start_next_page that has returned NJ_OK. All handles are borrowed until the callback returns.
 */
typedef void (*nj_next_page_fn)(void *context, nj_paginator *paginator, nj_page *page, const nj_error *error);

/**
 * Requests the next page without blocking. `done` is called from nj_queue_poll. nj_paginator_start_next_page may be
 * called again before `done` has been called: the calls receive the following pages in order. One page is loaded at a
 * time.
 *
 * @param context passed to `done` unchanged; must stay valid until `done` has returned
 * @return NJ_OK; NJ_INVALID_ARGUMENT; NJ_CLOSED for the queue; NJ_FORKED. `done` is called only after NJ_OK.
 */
NJ_API nj_status nj_paginator_start_next_page(nj_paginator *paginator, nj_queue *queue, nj_next_page_fn done,
                                              void *context);

/**
 * Sets the next page of a list of style NJ_PAGINATION_CUSTOM after a page has been returned: by its URL
 * (nj_paginator_set_next_url), or by query parameters that replace those of the same names
 * (nj_paginator_set_next_query). NULL ends the list.
 *
 * The next request for a page fails with NJ_INVALID_ARGUMENT if the next page was not set after the last page, was set
 * twice or before the first page, or was set for a list of another style. It fails with NJ_PROTOCOL for an invalid URL
 * and for an origin that is not allowed.
 *
 * @param url   absolute, or relative to the URL of the last page
 * @param items name, value, name, value, ..., NULL
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also for a last name without a value; NJ_FORKED
 */
NJ_API nj_status nj_paginator_set_next_url(nj_paginator *paginator, const char *url);
NJ_API nj_status nj_paginator_set_next_query(nj_paginator *paginator, const char *const *items);

/**
 * Restarts the list with its first page. Discards the detected style and the loaded pages. Does nothing if `paginator`
 * is NULL, and after fork.
 */
NJ_API void nj_paginator_refresh(nj_paginator *paginator);

/**
 * Cancels the requests in flight. Functions and callbacks that wait for a page receive NJ_CANCELLED. The position in
 * the list does not change: a later request loads the same page again. Any thread. Does nothing if `paginator` is NULL,
 * and after fork.
 */
NJ_API void nj_paginator_cancel(nj_paginator *paginator);

/**
 * Returns the position after the last returned item or page, for nj_paginator_new. The text omits query parameters
 * whose names denote secrets.
 *
 * @return text that the caller frees with nj_text_free; NULL if `paginator` is NULL, and after fork
 */
NJ_NEW char *nj_paginator_state(nj_paginator *paginator);

/**
 * Returns the detected rules of the list as a sentence: "guessed: the items are at ...". Empty if no rule had to be
 * detected.
 *
 * @return text that the caller frees with nj_text_free; NULL if `paginator` is NULL, and after fork
 */
NJ_NEW char *nj_paginator_explanation(nj_paginator *paginator);

/* ==================================================================================================================
 * nj_page: one page of a list
 *
 *   Created by   nj_paginator_next_page; nj_page_retain adds a reference
 *   Released by  nj_page_release
 *   Threads      any; a page is immutable
 * ================================================================================================================== */

/** Adds a reference, for example to a page that a callback has borrowed. NULL if `page` is NULL. */
NJ_API nj_page *nj_page_retain(nj_page *page);

/** Releases one reference. NULL is ignored. */
NJ_API void nj_page_release(nj_page *page);

/** Returns the number of the page, 1 for the first. 0 if `page` is NULL. */
NJ_API int64_t nj_page_number(const nj_page *page);

/** Returns the number of items, without those whose key occurred on an earlier page. 0 if `page` is NULL. */
NJ_API size_t nj_page_count(const nj_page *page);

/**
 * Returns the JSON text of an item, followed by NUL and valid until the page is released.
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return NULL, with a length of 0, if `index` is out of range
 */
NJ_API const char *nj_page_item(const nj_page *page, size_t index, size_t *out_length);

/** Returns the response of the page. Borrowed. NULL if `page` is NULL. */
NJ_API const nj_response *nj_page_response(const nj_page *page);

/**
 * Returns the position after the first `consumed` items of the page, for nj_paginator_new. The text omits query
 * parameters whose names denote secrets.
 *
 * @param consumed a number above nj_page_count means all items
 * @return text that the caller frees with nj_text_free; NULL if `page` is NULL
 */
NJ_NEW char *nj_page_state(const nj_page *page, size_t consumed);

/* ==================================================================================================================
 * nj_resource: data of an API that a view shows
 *
 *   Constructor  nj_resource_new
 *   Destructor   nj_resource_free
 *   Threads      any
 *
 * A resource is loaded while it is observed: at the first nj_resource_observe, when the network returns, after an
 * interval, after a successful write of the same client to its path, and after nj_client_invalidate. Each load is a call
 * of the client. A failure does not remove the data. When the last observer leaves, the load in progress is cancelled.
 *
 * A snapshot is the state at one moment. Observers receive it on the queue of the resource; many changes cause one
 * callback with the newest snapshot.
 *
 * @code
 *     static void show(void *context, const nj_snapshot *snapshot) {
 *       bool *is_loaded = context;
 *       const nj_response *data = nj_snapshot_data(snapshot);
 *       if (data) puts(nj_response_body(data, NULL));
 *       *is_loaded = nj_snapshot_get_phase(snapshot) == NJ_RESOURCE_LOADED;
 *     }
 *
 *     static void show_article(nj_client *client, nj_error **error) {
 *       nj_request *request = nj_request_new("GET", "/v1/articles/1");
 *       nj_queue *queue = nj_queue_new();
 *       bool is_loaded = false;
 *       nj_resource *article = nj_resource_new(client, request, NULL, 0, queue, error);
 *       nj_resource_observer *observer = article ? nj_resource_observe(article, show, &is_loaded, error) : NULL;
 *       while (observer && !is_loaded) nj_queue_poll(queue, 1); // an event loop watches nj_queue_fd instead
 *       nj_resource_observer_free(observer);
 *       nj_resource_free(article);
 *       nj_queue_free(queue);
 *       nj_request_free(request);
 *     }
 * @endcode
 * ================================================================================================================== */

/** Whether the data of a resource is being loaded, and how the last load ended. Members may be added. */
typedef enum nj_resource_phase {
  NJ_RESOURCE_IDLE = 0,    /**< nothing was loaded, or the load was cancelled before there was data */
  NJ_RESOURCE_LOADING = 1, /**< a load is in progress; there may be data */
  NJ_RESOURCE_LOADED = 2,
  NJ_RESOURCE_FAILED = 3 /**< the last load has failed; there may be data of an earlier load */
} nj_resource_phase;

/** The kind of a mutation in progress. Members may be added. */
typedef enum nj_resource_mutation {
  NJ_RESOURCE_UNCHANGED = 0, /**< no mutation is in progress */
  NJ_RESOURCE_SAVING = 1,
  NJ_RESOURCE_DELETING = 2
} nj_resource_mutation;

/**
 * Receives the snapshot of a resource: at once when the observer is created, and after changes. Runs in nj_queue_poll.
 *
 * @param snapshot borrowed until the callback returns
 */
typedef void (*nj_resource_fn)(void *context, const nj_snapshot *snapshot);

/**
 * Receives the result of nj_resource_get, nj_resource_reload or nj_resource_mutate, exactly once. Exactly one of
 * `response` and `error` is not NULL. Both are borrowed until the callback returns; nj_response_retain and
 * nj_error_retain keep them.
 */
typedef void (*nj_resource_done_fn)(void *context, const nj_response *response, const nj_error *error);

/**
 * Creates a resource. Nothing is loaded before it is observed, requested or reloaded.
 *
 * Keys of the options, all optional:
 *
 *   debounce       how long a change of the path waits for further changes, in seconds from 0 to 60. Default: 0
 *   reload_on      a list of "network" (when the network returns), "children" (after a write to a URL below the path,
 *                  such as PUT /articles/7 for /articles) and a number of seconds, at least 0.1 (an interval). Default:
 *                  ["network"]
 *   tags           the names by which nj_client_invalidate invalidates the resource
 *   keep_previous  true: the data of the previous path is shown, as stale, until new data has arrived. Default: false
 *
 * @param request a GET or another safe request without a body, copied; its callbacks are not called
 * @param options a JSON object of `length` bytes; NULL: the defaults
 * @param queue   the queue of all callbacks of the resource, and of the client's hooks and decisions during loads
 * @return a resource that the caller frees with nj_resource_free, or NULL: NJ_INVALID_ARGUMENT or NJ_DECODING for the
 *         options; NJ_INVALID_REQUEST or NJ_INVALID_URL for the request; NJ_CLOSED, NJ_FORKED
 */
NJ_NEW nj_resource *nj_resource_new(nj_client *client, const nj_request *request, const char *options, size_t length,
                                    nj_queue *queue, nj_error **out_error);

/**
 * Frees a resource and cancels the load in progress. Its observers receive no further changes, and must still be freed.
 * Pending callbacks of nj_resource_get and nj_resource_reload are called with NJ_CLOSED. Mutations in progress continue.
 * NULL is ignored.
 */
NJ_API void nj_resource_free(nj_resource *resource);

/**
 * Changes the path, including its query. Returns at once; the load of the old path is cancelled later, after the debounce
 * time.
 *
 * @param path an absolute URL or a path as in nj_request_new; replaces all query items and parameters of the request
 * @return NJ_OK, NJ_INVALID_URL, NJ_INVALID_REQUEST or NJ_FORKED; nothing is then changed
 */
NJ_API nj_status nj_resource_set_path(nj_resource *resource, const char *path, nj_error **out_error);

/** Returns the newest snapshot, which the caller frees with nj_snapshot_free, or NULL. */
NJ_NEW nj_snapshot *nj_resource_snapshot(const nj_resource *resource);

/**
 * Observes a resource. The first observer begins a load.
 *
 * @param changed called in nj_queue_poll with the present snapshot, and then with the newest one after changes, until the
 *                observer is freed
 * @param context passed to `changed`; must stay valid until the observer is freed and a running `changed` has returned
 * @return an observer that the caller frees with nj_resource_observer_free, or NULL: NJ_INVALID_ARGUMENT, NJ_FORKED
 */
NJ_NEW nj_resource_observer *nj_resource_observe(nj_resource *resource, nj_resource_fn changed, void *context,
                                                 nj_error **out_error);

/** Frees an observer. The last one cancels the load in progress, unless a reload waits for it. NULL is ignored. */
NJ_API void nj_resource_observer_free(nj_resource_observer *observer);

/**
 * Waits for current data without blocking: `done` receives it at once, or after the load in progress.
 *
 * @param done    called in nj_queue_poll, once, with the data or the error of the load, NJ_CANCELLED or NJ_CLOSED
 * @param context passed to `done`; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release; nj_task_cancel ends the wait. NULL: NJ_INVALID_ARGUMENT,
 *         NJ_CLOSED, NJ_FORKED
 */
NJ_NEW nj_task *nj_resource_get(nj_resource *resource, nj_resource_done_fn done, void *context, nj_error **out_error);

/**
 * Loads the data again, past the cache. The load begins after this call, so the data that `done` receives is not older.
 * Parameters, result and errors are those of nj_resource_get.
 */
NJ_NEW nj_task *nj_resource_reload(nj_resource *resource, nj_resource_done_fn done, void *context,
                                   nj_error **out_error);

/**
 * Sends a request that changes the resource, and shows its progress in the snapshots. The resource is loaded again after
 * a success, and after a failure that the server may have processed. After the DELETE of its own path, it has no data.
 *
 * @param request    any request, copied; its callbacks are not called
 * @param optimistic JSON of `length` bytes that is shown as the data until the mutation has ended, and removed if it
 *                   fails. NULL: the data does not change
 * @param done       called in nj_queue_poll, once, with the response or the error of the request
 * @return a task that the caller releases with nj_task_release, or NULL: NJ_INVALID_ARGUMENT, NJ_DECODING for the JSON,
 *         NJ_NO_MEMORY, NJ_CLOSED, NJ_FORKED
 */
NJ_NEW nj_task *nj_resource_mutate(nj_resource *resource, const nj_request *request, const char *optimistic,
                                   size_t length, nj_resource_done_fn done, void *context, nj_error **out_error);

/**
 * Invalidates the resources of a client that have a tag: their data is stale, and is loaded again if they are observed.
 * For changes that the client does not see, such as an event of the server.
 *
 * @return NJ_OK, NJ_INVALID_ARGUMENT or NJ_FORKED
 */
NJ_API nj_status nj_client_invalidate(nj_client *client, const char *tag);

/**
 * Sets the tags that a request invalidates, as nj_client_invalidate does, when it has changed something: its method is
 * not safe, and its response has a status from 200 to 399.
 *
 * @param tags followed by NULL; copied. NULL, the default: none.
 * @return NJ_OK; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_request_set_invalidates(nj_request *request, const char *const *tags);

/** Frees a snapshot of nj_resource_snapshot. NULL is ignored. */
NJ_API void nj_snapshot_free(nj_snapshot *snapshot);

/**
 * Returns the data: the response of the last successful load, or the optimistic value of a mutation in progress as a
 * response with a JSON body. NULL: there is none. Borrowed from the snapshot.
 */
NJ_API const nj_response *nj_snapshot_data(const nj_snapshot *snapshot);

/** Returns why the last load failed, or NULL. A cancelled load is no failure. Borrowed from the snapshot. */
NJ_API const nj_error *nj_snapshot_error(const nj_snapshot *snapshot);

/** Returns the phase. NULL: NJ_RESOURCE_IDLE. */
NJ_API nj_resource_phase nj_snapshot_get_phase(const nj_snapshot *snapshot);

/** Returns the kind of the mutation that began last and is in progress. NULL: NJ_RESOURCE_UNCHANGED. */
NJ_API nj_resource_mutation nj_snapshot_get_mutation(const nj_snapshot *snapshot);

/**
 * Returns whether the data may be out of date: a write has invalidated it, a later load has failed, the cache has served
 * it stale, or it belongs to the previous path.
 */
NJ_API bool nj_snapshot_is_stale(const nj_snapshot *snapshot);

/** Returns the number of the snapshot, which increases with each change of the resource. */
NJ_API int64_t nj_snapshot_generation(const nj_snapshot *snapshot);

/** Returns when the server's data was received, in seconds since 1970, or -1 if there is none. */
NJ_API double nj_snapshot_updated_at(const nj_snapshot *snapshot);

/* ==================================================================================================================
 * nj_events: event streams (server-sent events, WHATWG HTML section 9.2)
 *
 *   Constructor  nj_events_new
 *   Destructor   nj_events_free
 *   Threads      one at a time
 *
 * A stream connects again when its connection ends or fails, and asks the server for the events after the last one
 * (Last-Event-ID). Each connection is a call with the client's credentials, limits and proxies. The first connection
 * fails like any other call. Later ones are repeated while their failures are temporary: network failures, timeouts, and
 * the statuses 429, 502, 503 and 504, unless Retry-After asks for more than 300 seconds. The waits begin at the
 * reconnection time and double up to 60 seconds while connections fail, or end without an event, an id or a reconnection
 * time; a random time up to half of that is added. The stream ends if the server responds with 204.
 *
 * Events that the server sends again are not delivered twice by one stream, if they have an id of their own. A request
 * whose method is not idempotent is sent again only if it has an idempotency key or the server has not received it.
 * The total timeout of the request, by default none, limits each connection. The client's does not apply.
 *
 * Options, a JSON object:
 *
 *   last_event_id      the id of the last event of an earlier stream; "" by default
 *   idle_timeout       the connection has failed after this number of seconds without a byte; 0: none. By default the
 *                      idle timeout of the request, or else 60.
 *   reconnect          true: after an end and after a failure. "after_failure": the end of the response is the end of
 *                      the stream. false: never. By default, true for safe methods such as GET, "after_failure" for
 *                      other requests with an idempotency key, and false otherwise.
 *   reconnection_time  seconds before the first reconnection, 0.1 to 300, until the server sends another; 1 by default
 *   max_event          the maximum size of the data of an event in bytes, 1 to 1073741824; 1048576 by default
 * ================================================================================================================== */

/** The state of an event stream. Members may be added. */
typedef enum nj_events_state {
  NJ_EVENTS_CONNECTING = 0,
  NJ_EVENTS_OPEN = 1,
  NJ_EVENTS_WAITING = 2, /* for the next connection */
  NJ_EVENTS_CLOSED = 3
} nj_events_state;

/**
 * Creates an event stream. Nothing is sent before the first nj_events_next.
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/events?count=3");
 *     nj_events *events = nj_events_new(client, request, NULL, 0, &error);
 *     const nj_event *event;
 *     while (nj_events_next(events, NJ_NO_LIMIT, &event, &error) == NJ_OK && event) {
 *       printf("%s %s\n", nj_event_id(event), nj_event_data(event, NULL));
 *     }
 *     nj_events_free(events);
 *     nj_request_free(request);
 * @endcode
 *
 * @param request copied
 * @param options a JSON object as described above; need not end with NUL. NULL: none
 * @param length  bytes of `options`
 * @return the stream, or NULL: NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not JSON; NJ_INVALID_REQUEST for invalid
 *         arguments of an endpoint
 */
NJ_NEW nj_events *nj_events_new(nj_client *client, const nj_request *request, const char *options, size_t length,
                                nj_error **out_error);

/** Closes the stream and its connection. NULL is ignored. */
NJ_API void nj_events_free(nj_events *events);

/**
 * Blocks until the next event has arrived. Callbacks of the client run on this thread meanwhile. While the program does
 * not read, about 512 KiB are buffered at most, and the client stops reading from the network.
 *
 * @param seconds   how long to wait, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @param out_event set to the event, borrowed until the next call for this stream; NULL after the last event and on
 *                  failure
 * @return NJ_OK; NJ_TIMEOUT if no event arrived in time (the stream stays open); NJ_DECODING if the response is not an
 *         event stream; NJ_TOO_LARGE for an event that is too large; the errors of calls, see above; NJ_CLOSED;
 *         NJ_FORKED; NJ_REENTRANT inside a callback that this function runs for the stream; NJ_INVALID_ARGUMENT. After a
 *         failure, nj_error_delivered returns the number of events.
 */
NJ_API nj_status nj_events_next(nj_events *events, double seconds, const nj_event **out_event, nj_error **out_error);

/**
 * Returns the last id that nj_events_next has received, with an event or after it, for the option last_event_id of a
 * later stream.
 * "" if there is none, NULL if `events` is NULL. Valid until the next call for this stream.
 */
NJ_API const char *nj_events_last_event_id(const nj_events *events);

/**
 * Returns the response of the last connection, without its body. The caller releases it with nj_response_release. NULL
 * before the first response, or if `events` is NULL.
 */
NJ_NEW nj_response *nj_events_response(const nj_events *events);

/**
 * Returns the reconnection time in seconds, 0.1 to 300: the last `retry` value of the server, or else the option
 * reconnection_time. Waits after failed connections are longer. 0 if `events` is NULL.
 */
NJ_API double nj_events_reconnection_time(const nj_events *events);

/** Returns the state of the connection. NJ_EVENTS_CLOSED if `events` is NULL. */
NJ_API nj_events_state nj_events_get_state(const nj_events *events);

/**
 * Returns the changes of the state and their reasons, one per line, at most the last 100. Contains no secret. Valid
 * until the next call for this stream. NULL if `events` is NULL.
 */
NJ_API const char *nj_events_explain(nj_events *events);

/** Returns the type of the event: "message" unless the server has sent another one. NULL if `event` is NULL. */
NJ_API const char *nj_event_type(const nj_event *event);

/** Returns the last id that the server has sent, with this event or before. "" if there is none. NULL for NULL. */
NJ_API const char *nj_event_id(const nj_event *event);

/**
 * Returns the data of the event. Lines are separated by LF.
 *
 * @param out_length set to the number of bytes without the NUL at the end; may be NULL
 */
NJ_API const char *nj_event_data(const nj_event *event, size_t *out_length);

/**
 * Receives the end of an event stream. Called exactly once. `error` is NULL if the server has no more events, and
 * borrowed until the callback returns.
 */
typedef void (*nj_events_done_fn)(void *context, const nj_error *error);

/**
 * Starts to read an event stream without blocking. The callbacks are called from nj_queue_poll.
 *
 * @param options as for nj_events_new
 * @param context passed to both callbacks unchanged; must stay valid until `done` has returned
 * @return a task that the caller releases with nj_task_release (nj_task_cancel closes the stream, and `done` receives
 *         NJ_CANCELLED), or NULL: the errors of nj_events_new; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_task *nj_client_start_events(nj_client *client, const nj_request *request, const char *options, size_t length,
                                       nj_queue *queue, nj_event_fn event, nj_events_done_fn done, void *context,
                                       nj_error **out_error);

/* ==================================================================================================================
 * nj_websocket: WebSockets (RFC 6455)
 *
 *   Created by   nj_websocket_new, nj_client_start_websocket; nj_websocket_retain adds a reference
 *   Released by  nj_websocket_release
 *   Threads      any; nj_websocket_connect, nj_websocket_receive and nj_websocket_close: one of them at a time
 *
 * Hooks and token providers of the client run inside these three functions. Call nj_websocket_connect first if there are
 * any: otherwise the connection is not opened, and nj_websocket_send without a limit may block forever.
 *
 * The handshake is a call with the client's credentials, cookies, limits, proxies and TLS settings. The total timeout of
 * the request, by default none, limits the whole connection. The client's does not apply. While the program does not
 * receive, about 512 KiB are buffered at most, and the client stops reading from the network.
 *
 * A WebSocket that was lost can connect again (option `reconnect`). The waits begin at 0.5 seconds and double up to 30
 * seconds, and are random between zero and that time. Messages that were not sent, and messages that are sent meanwhile,
 * are then sent over the next connection. No message is sent twice: a message that was written when the connection was
 * lost is not sent again, although the server may not have received it.
 *
 * Options, a JSON object:
 *
 *   protocols           an array of subprotocols that the client offers, in order of preference
 *   compress            whether compression is offered (permessage-deflate, RFC 7692); true by default
 *   max_message         the maximum size of a received message in bytes, after decompression, 1 to 1073741824; 16777216
 *                       by default. A larger message closes the connection with 1009: NJ_TOO_LARGE.
 *   pieces              true: messages are delivered in pieces of at most 65536 bytes, as they arrive. max_message still
 *                       limits the whole message. A piece of a text is valid UTF-8. See nj_message_is_first and
 *                       nj_message_is_last. false, the default: messages are delivered whole.
 *   max_queued          the maximum size of all messages that wait to be sent, in bytes, 1 to 1073741824; 1048576 by
 *                       default. A larger message is accepted if no other one waits.
 *   ping                the client sends a Ping after this number of seconds without a received byte; 0: never; 20 by
 *                       default
 *   pong_timeout        the connection is lost if no byte arrives for this number of seconds after a Ping; 20 by default
 *   close_timeout       the server must respond to a Close frame within this number of seconds; 10 by default
 *   reconnect           whether another connection is opened when the connection is lost; false by default. The first
 *                       connection fails like any other call.
 *   reconnect_codes     an array of the close codes after which another connection is opened; [1001, 1006, 1011, 1012,
 *                       1013, 1014] by default. 1006 is a connection that ended without a Close frame.
 *   reconnect_attempts  the maximum number of attempts in a row to open another connection; unlimited by default
 *   keep_unsent         whether messages are kept for the next connection; true by default. false: after the
 *                       connection was lost, messages that were not sent are discarded, and sending fails with
 *                       NJ_CONNECTION_LOST until there is another one. Messages that are sent before the first
 *                       connection is open are kept in any case.
 *   graphql             a GraphQL subscription, as text or as an object of query, variables, operation_name, extensions,
 *                       init_payload (the payload of connection_init) and authorize (true: the payload has the
 *                       Authorization field of the handshake). The client speaks graphql-transport-ws. Each received
 *                       message is the JSON text of a result, and the WebSocket is closed when the subscription is
 *                       complete. Each connection subscribes again. Errors: NJ_GRAPHQL, NJ_PROTOCOL, and the kinds of
 *                       the close codes 4401 (NJ_UNAUTHORIZED), 4403, 4429 and 4500
 * ================================================================================================================== */

/** The state of a WebSocket. Members may be added. */
typedef enum nj_websocket_state {
  NJ_WEBSOCKET_CONNECTING = 0,
  NJ_WEBSOCKET_OPEN = 1,
  NJ_WEBSOCKET_WAITING = 2, /* the connection was lost; another one is opened after a wait */
  NJ_WEBSOCKET_CLOSING = 3, /* the closing handshake is in progress */
  NJ_WEBSOCKET_CLOSED = 4
} nj_websocket_state;

/** The kind of a message. Members may be added. */
typedef enum nj_message_kind {
  NJ_MESSAGE_TEXT = 1, /* UTF-8 */
  NJ_MESSAGE_BINARY = 2
} nj_message_kind;

/**
 * Returns whether this is the first piece of a message. Always true without the option `pieces`. True for NULL.
 *
 * With the option `reconnect`, a message whose connection was lost remains incomplete: the first piece of another message
 * follows. The program must then discard the pieces of the incomplete message.
 */
NJ_API bool nj_message_is_first(const nj_message *message);

/** Returns whether this is the last piece of a message. Always true without the option `pieces`. True for NULL. */
NJ_API bool nj_message_is_last(const nj_message *message);

/** Returns the kind of a message. NJ_MESSAGE_BINARY if `message` is NULL. */
NJ_API nj_message_kind nj_message_get_kind(const nj_message *message);

/**
 * Returns the content of a message, with a NUL at the end. NULL if `message` is NULL.
 *
 * @param out_length set to the number of bytes without the NUL at the end; may be NULL
 */
NJ_API const char *nj_message_data(const nj_message *message, size_t *out_length);

/**
 * Opens a WebSocket for a program that receives by nj_websocket_receive. Returns at once: the connection is opened by the
 * client's thread.
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/ws/echo");
 *     nj_websocket *socket = nj_websocket_new(client, request, NULL, 0, &error);
 *     nj_websocket_send(socket, NJ_MESSAGE_TEXT, "hello", 5, NJ_NO_LIMIT, &error);
 *     const nj_message *message = NULL;
 *     if (nj_websocket_receive(socket, NJ_NO_LIMIT, &message, &error) == NJ_OK && message) {
 *       printf("%s\n", nj_message_data(message, NULL));
 *     }
 *     nj_websocket_close(socket, 1000, NULL, NJ_NO_LIMIT, &error);
 *     nj_websocket_release(socket);
 *     nj_request_free(request);
 * @endcode
 *
 * @param request a GET request without a body; copied. Its target may begin with ws: or wss:
 * @param options a JSON object as described above; need not end with NUL. NULL: none
 * @param length  bytes of `options`
 * @return the WebSocket, or NULL: NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not JSON; NJ_INVALID_REQUEST for
 *         another method, a body, or invalid arguments of an endpoint; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_websocket *nj_websocket_new(nj_client *client, const nj_request *request, const char *options, size_t length,
                                      nj_error **out_error);

/** The callbacks of nj_client_start_websocket. They are called one at a time, from nj_queue_poll. */
typedef struct nj_websocket_callbacks {
  size_t size; /* sizeof(nj_websocket_callbacks) */
  /**
   * Called when a connection is open, also after a reconnection. Messages that this callback sends are sent before the
   * messages that were kept while there was no connection. Messages that other threads send meanwhile follow
   * the kept ones. May be NULL.
   */
  void (*open)(void *context, nj_websocket *socket);
  /** Receives a message, which is borrowed until the callback returns. Required. */
  void (*message)(void *context, nj_websocket *socket, const nj_message *message);
  /** Called when the send queue has room again, after nj_websocket_try_send has sent nothing. May be NULL. */
  void (*writable)(void *context, nj_websocket *socket);
  /**
   * Called exactly once, as the last callback. `error` is borrowed. It is NULL if the program has closed the WebSocket,
   * or if the server has closed it with 1000, 1001 or without a code. Required.
   */
  void (*done)(void *context, nj_websocket *socket, const nj_error *error);
} nj_websocket_callbacks;

/**
 * Opens a WebSocket without blocking.
 *
 * @param options   as for nj_websocket_new
 * @param callbacks copied
 * @param context   passed to the callbacks unchanged; must stay valid until `done` has returned
 * @return a WebSocket that the caller releases (releasing does not close it), or NULL: the errors of nj_websocket_new
 */
NJ_NEW nj_websocket *nj_client_start_websocket(nj_client *client, const nj_request *request, const char *options,
                                               size_t length, nj_queue *queue, const nj_websocket_callbacks *callbacks,
                                               void *context, nj_error **out_error);

/** Adds a reference. NULL if `socket` is NULL. */
NJ_API nj_websocket *nj_websocket_retain(nj_websocket *socket);

/**
 * Releases one reference. The last release of a WebSocket from nj_websocket_new closes its connection at once. One from
 * nj_client_start_websocket continues until `done` is called. NULL is ignored.
 */
NJ_API void nj_websocket_release(nj_websocket *socket);

/**
 * Blocks until the connection is open. Not necessary before other functions: they wait by themselves. Also succeeds if
 * the server has closed the connection since: nj_websocket_receive returns its messages and reports the end.
 *
 * @param seconds how long to wait, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @return NJ_OK; NJ_TIMEOUT (the client still tries to connect); the errors of calls if the handshake fails, NJ_PROTOCOL
 *         if its response is invalid; NJ_CLOSED if the program has closed the WebSocket; NJ_FORKED; NJ_REENTRANT inside
 *         a callback that a function runs for this WebSocket; NJ_INVALID_ARGUMENT, also for a WebSocket with callbacks
 */
NJ_API nj_status nj_websocket_connect(nj_websocket *socket, double seconds, nj_error **out_error);

/**
 * Blocks until a message has arrived. Callbacks of the client run on this thread meanwhile.
 *
 * @param seconds     how long to wait, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @param out_message set to the message, borrowed until the next call of this function for this WebSocket; NULL on
 *                    failure, and at the end: the program has closed the WebSocket, or the server has closed it with
 *                    1000, 1001 or without a code
 * @return NJ_OK; NJ_TIMEOUT if no message arrived in time (the WebSocket stays open), or if the server did not respond
 *         to a Ping; NJ_CONNECTION_LOST; NJ_PROTOCOL if the server violates the protocol; NJ_TOO_LARGE; the errors of
 *         nj_websocket_connect
 */
NJ_API nj_status nj_websocket_receive(nj_websocket *socket, double seconds, const nj_message **out_message,
                                      nj_error **out_error);

/**
 * Sends a message. Returns when the message is in the send queue: blocks while the queue is full.
 *
 * @param data    copied; may be NULL if `length` is 0
 * @param seconds how long to wait for room, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @return NJ_OK; NJ_TIMEOUT if the queue stayed full (nothing was sent); NJ_CLOSED; NJ_CONNECTION_LOST if there is no
 *         connection and messages are not kept; NJ_INVALID_ARGUMENT, also for a text that is not UTF-8; NJ_NO_MEMORY;
 *         NJ_FORKED
 */
NJ_API nj_status nj_websocket_send(nj_websocket *socket, nj_message_kind kind, const void *data, size_t length,
                                   double seconds, nj_error **out_error);

/**
 * Sends a message without blocking.
 *
 * @param out_sent set to false if the send queue is full: nothing was sent, and `writable` is called later
 * @return NJ_OK; the errors of nj_websocket_send except NJ_TIMEOUT
 */
NJ_API nj_status nj_websocket_try_send(nj_websocket *socket, nj_message_kind kind, const void *data, size_t length,
                                       bool *out_sent, nj_error **out_error);

/**
 * Sends a Ping and blocks until its Pong has arrived. Not necessary to keep a connection: see the option `ping`.
 *
 * @param seconds     how long to wait, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no limit
 * @param out_seconds set to the time between both; may be NULL
 * @return NJ_OK; NJ_TIMEOUT; NJ_CONNECTION_LOST if no connection is open (the function does not wait for one), or if
 *         it is lost; NJ_CLOSED; NJ_FORKED; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_websocket_ping(nj_websocket *socket, double seconds, double *out_seconds, nj_error **out_error);

/**
 * Closes the WebSocket after the messages that were sent before, and blocks until the server has responded, at most for
 * the close timeout. While a connection is being opened and messages wait for it, the function also waits for
 * the connection. Messages that arrive meanwhile may be discarded.
 *
 * @param code    1000 to 1003, 1007 to 1014, or 3000 to 4999; 0: a Close frame without a code
 * @param reason  at most 123 bytes of UTF-8; NULL: none
 * @param seconds how long to wait, 0 to 3153600000; NJ_NO_LIMIT (0) and INFINITY: no further limit
 * @return NJ_OK, also if the WebSocket is closed; NJ_TIMEOUT (the client continues to close it); NJ_INVALID_ARGUMENT,
 *         also for a WebSocket with callbacks, which nj_websocket_start_close closes; NJ_REENTRANT inside a callback that
 *         a function runs for this WebSocket; NJ_FORKED. The WebSocket stays open after the last three. How it ended
 *         is reported by nj_websocket_receive: NJ_CONNECTION_LOST if the messages that wait could not be sent.
 */
NJ_API nj_status nj_websocket_close(nj_websocket *socket, int code, const char *reason, double seconds,
                                    nj_error **out_error);

/**
 * Starts to close the WebSocket, and returns at once. Messages that arrive meanwhile may be discarded.
 *
 * @param code   as for nj_websocket_close
 * @param reason as for nj_websocket_close
 * @return NJ_OK, also if the WebSocket is closed; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_websocket_start_close(nj_websocket *socket, int code, const char *reason, nj_error **out_error);

/**
 * Closes the connection at once, without a closing handshake: the WebSocket ends with NJ_CANCELLED. Does nothing if it
 * has ended, if `socket` is NULL, and after fork.
 */
NJ_API void nj_websocket_cancel(nj_websocket *socket);

/** Returns the state. NJ_WEBSOCKET_CLOSED if `socket` is NULL, and after fork. */
NJ_API nj_websocket_state nj_websocket_get_state(const nj_websocket *socket);

/**
 * Returns the response to the last handshake that the server has accepted: its headers, TLS connection and timing. The
 * caller releases it with nj_response_release. NULL if there is none, or if `socket` is NULL.
 */
NJ_NEW nj_response *nj_websocket_response(const nj_websocket *socket);

/**
 * Returns the subprotocol that the server has selected for the last connection. NULL if it has selected none, if there
 * was no connection yet, or if `socket` is NULL. The caller frees it with nj_text_free.
 */
NJ_NEW char *nj_websocket_subprotocol(const nj_websocket *socket);

/**
 * Returns the close code of the last connection that has ended. 1005: the Close frame has no code. 1006: the connection
 * ended without a Close frame. 0 if no connection has ended, or if `socket` is NULL.
 */
NJ_API int nj_websocket_close_code(const nj_websocket *socket);

/**
 * Returns the reason in the last Close frame, "" if there is none. The caller frees it with nj_text_free. NULL if
 * `socket` is NULL, and after fork.
 */
NJ_NEW char *nj_websocket_close_reason(const nj_websocket *socket);

/**
 * Returns the changes of the state and their reasons, one per line, at most the last 100. Contains no secret. The caller
 * frees it with nj_text_free. NULL if `socket` is NULL.
 */
NJ_NEW char *nj_websocket_explain(const nj_websocket *socket);

/* ==================================================================================================================
 * nj_download: downloads to files
 *
 *   Created by   nj_client_download, nj_client_start_download, nj_task_start_download; nj_download_retain adds a
 *                reference
 *   Released by  nj_download_release; releasing does not cancel
 *   Threads      any
 *
 * The bytes are written beside the file, to a part with the suffix ".nightjar-part". The part gets the name of the file
 * when its length and its digests are right and it is synced to the disk. The final name never refers to a truncated or
 * mixed file. The file "<part>.state" has what a later download needs to continue.
 *
 * After a failure, the download resumes at the first missing byte, in this or a later process. It requests the rest with
 * Range and If-Range, which need a strong validator: an ETag that is not weak, or without an ETag a Last-Modified at
 * least 60 seconds before the response's Date. Otherwise the download starts over. Each request is a call with the
 * client's credentials, limits, retries and proxies. A total timeout of the request limits each of these calls; the
 * client's does not apply. Only the statuses 200, 203 and 206 are a success.
 *
 * A response that ends before its range is a failure: the download waits and requests the rest. A Retry-After of over
 * 60 seconds ends the download at once. A body that is longer than its range starts the download over at once.
 *
 * The digest of a Repr-Digest or Content-Digest field (RFC 9530, sha-256 and sha-512) is verified. Content with a
 * Content-Encoding is decoded; it cannot be continued.
 *
 * Options, a JSON object:
 *
 *   id           an id of 1 to 256 bytes; see nj_upload. Only for GET
 *   resume       true, the default: a part of the same URL is continued. false: it is discarded. A text: a result of
 *                nj_download_resume_state, whose part is continued even if the URL differs, for example in a signature.
 *                The download fails with NJ_CONTENT_CHANGED if the part or its state file is missing, or if the state
 *                file has another validator. The file must be on the file system of the part. Only for GET.
 *   checksum     the digest of the file: md5, sha1, sha256, sha384 or sha512, a colon, and hexadecimal digits or base64
 *   connections  the maximum number of connections, 1 to 16; 1 by default. Several are used only if the server supports
 *                ranges and the content has a strong validator.
 *   restart      whether the download starts over if it cannot continue; true by default. false: it fails with
 *                NJ_CONTENT_CHANGED, and keeps a part that has a strong validator. If a request fails and the content
 *                has no strong validator, it fails with the error of the request.
 *   overwrite    whether an existing file is replaced; true by default if `path` names the file, false if it is a
 *                folder: the name then gets a number
 *   mode         the permissions of the file in octal digits, such as "600"; "666" without the umask by default
 *   keep_time    whether the file gets the time of Last-Modified; false by default
 *   max_rate     bytes per second, 1 to 1099511627776; unlimited by default
 *   max_size     the maximum size of the file in bytes; unlimited by default. NJ_TOO_LARGE
 *   attempts     the number of consecutive failures without new data after which the download fails, 1 to 1000000; 5 by
 *                default. Also the number of times that it may start over.
 *   retry_delay  the longest wait before the first attempt after a failure in seconds, 0 to 300; 1 by default. Waits are
 *                random. Their maximum doubles up to 60 seconds, or `retry_delay` if that is longer.
 * ================================================================================================================== */

/** The state of a download. Members may be added. */
typedef enum nj_download_state {
  NJ_DOWNLOAD_CONNECTING = 0, /* the part is being opened, or no response has started */
  NJ_DOWNLOAD_RECEIVING = 1,
  NJ_DOWNLOAD_WAITING = 2,    /* an attempt has failed; another one follows after a wait */
  NJ_DOWNLOAD_PAUSED = 3,
  NJ_DOWNLOAD_VERIFYING = 4,  /* the file is compared with its digests and synced to the disk */
  NJ_DOWNLOAD_ENDED = 5
} nj_download_state;

/** The progress of a download. */
typedef struct nj_download_progress {
  nj_download_state state;
  int64_t received; /* the bytes in the part, including those of an earlier download */
  int64_t total;    /* the length of the file; -1 while it is not known */
  double rate;      /* bytes per second over the last 5 seconds; -1: not known */
  double time_left; /* seconds at this rate; -1: not known */
} nj_download_progress;

/** A file that was downloaded. */
typedef struct nj_downloaded_file {
  int64_t size;     /* its length in bytes */
  int64_t received; /* the body bytes that this download has received, including those that were discarded */
  int64_t resumed;  /* the bytes that an earlier download had received */
  int64_t attempts; /* the number of requests */
} nj_downloaded_file;

/** The callbacks of a download. They are called one at a time. Each may be NULL, except `done` for a queue. */
typedef struct nj_download_callbacks {
  size_t size; /* sizeof(nj_download_callbacks) */
  /** Receives the head of each response whose body is used. `response` is borrowed. May call nj_download_cancel. */
  void (*head)(void *context, nj_download *download, const nj_response *response);
  /** Called about ten times a second while the progress changes. `progress` is borrowed. */
  void (*progress)(void *context, nj_download *download, const nj_download_progress *progress);
  /** Called exactly once, as the last callback. `error` is borrowed; NULL: the file is complete. */
  void (*done)(void *context, nj_download *download, const nj_error *error);
} nj_download_callbacks;

/**
 * Downloads a file and blocks until the download has ended. The callbacks run on this thread; `done` is not called.
 *
 * @code
 *     nj_request *request = nj_request_new("GET", "/bytes/1000");
 *     nj_download *download = NULL;
 *     if (nj_client_download(client, request, "example.bin", NULL, 0, NULL, NULL, &download, &error) == NJ_OK) {
 *       char *path = nj_download_path(download);
 *       printf("%s\n", path);
 *       nj_text_free(path);
 *       remove("example.bin");
 *     }
 *     nj_download_release(download);
 *     nj_request_free(request);
 * @endcode
 *
 * @param request      a GET request; copied. Another method is sent only once, and its download cannot be continued.
 * @param path         the path of the file in UTF-8. A path that ends with a slash, or that is a folder, is the folder
 *                     of the file. Its name then is that of Content-Disposition (RFC 6266), made safe, or the last
 *                     segment of the URL. A symbolic link is followed.
 * @param options      a JSON object as described above; need not end with NUL. NULL: none
 * @param length       bytes of `options`
 * @param callbacks    copied; may be NULL
 * @param out_download receives the download, also after a failure, so that nj_download_resume_state can be called. The
 *                     caller releases it. NULL if nothing was started. May be NULL
 * @return NJ_OK; the errors of calls; NJ_STORAGE for errors of files, also if another download writes the part;
 *         NJ_CHECKSUM_MISMATCH; NJ_CONTENT_CHANGED; NJ_TOO_LARGE; NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not
 *         JSON; NJ_INVALID_REQUEST if the request has a Range header; NJ_REENTRANT; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_download(nj_client *client, const nj_request *request, const char *path, const char *options,
                                    size_t length, const nj_download_callbacks *callbacks, void *context,
                                    nj_download **out_download, nj_error **out_error);

/**
 * Starts a download without blocking.
 *
 * @param queue     the queue on which the callbacks run
 * @param callbacks copied; `done` is required
 * @param context   passed to the callbacks unchanged; must stay valid until `done` has returned
 * @return a download that the caller releases, or NULL: NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not JSON;
 *         NJ_INVALID_REQUEST; NJ_CLOSED; NJ_FORKED. Other errors are reported to `done`.
 */
NJ_NEW nj_download *nj_client_start_download(nj_client *client, const nj_request *request, const char *path,
                                             const char *options, size_t length, nj_queue *queue,
                                             const nj_download_callbacks *callbacks, void *context,
                                             nj_error **out_error);

/**
 * Makes a streamed response a download: its body is written to a file, and continued after failures with further
 * requests. Call it in the nj_head_fn of the call, before a part of the body has arrived. The callback for the body is
 * not called then. The call ends with the head of the response, when its body has been received or has failed; it has no
 * total timeout then, and nj_task_cancel has no effect on it. Its queue must be polled until then, because the body
 * arrives with the events of the call. If that queue is freed, the download continues with another request.
 *
 * @param task      a call with the callbacks nj_request_on_head and nj_request_on_body
 * @param path      the path of the file, or of its folder; see nj_client_download
 * @param options   as for nj_client_download, without `id`, with one connection, and without a text for `resume`. A part
 *                  of an earlier download is discarded. NULL: none
 * @param length    bytes of `options`
 * @param queue     the queue on which the callbacks run
 * @param callbacks copied; `done` is required
 * @param context   passed to the callbacks unchanged; must stay valid until `done` has returned
 * @return a download that the caller releases, or NULL: NJ_INVALID_ARGUMENT, also outside of the nj_head_fn, for other
 *         statuses than 200 and 203, and for a Content-Encoding that is not decoded; NJ_INVALID_REQUEST if the request
 *         has a Range field; NJ_DECODING if `options` is not JSON; NJ_CANCELLED; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_download *nj_task_start_download(nj_task *task, const char *path, const char *options, size_t length,
                                           nj_queue *queue, const nj_download_callbacks *callbacks, void *context,
                                           nj_error **out_error);

/** Adds a reference. NULL if `download` is NULL. */
NJ_API nj_download *nj_download_retain(nj_download *download);

/** Releases one reference. A download in progress continues. NULL is ignored. */
NJ_API void nj_download_release(nj_download *download);

/** Cancels the requests in progress and keeps the part. Does nothing after the end, after fork, and for NULL. */
NJ_API void nj_download_pause(nj_download *download);

/** Continues a paused download. If the content has no strong validator, the download starts over. */
NJ_API void nj_download_resume(nj_download *download);

/**
 * Ends the download with NJ_CANCELLED. Does nothing after the end, after fork, and for NULL.
 *
 * @param keep_part whether the part is kept, so that a later download can continue it
 */
NJ_API void nj_download_cancel(nj_download *download, bool keep_part);

/** Returns the progress. NJ_DOWNLOAD_ENDED if `download` is NULL, and after fork. */
NJ_API nj_download_progress nj_download_get_progress(const nj_download *download);

/**
 * Returns whether the download has succeeded. False if `download` is NULL.
 *
 * @param out_file set to the properties of the file, 0 if there is none; may be NULL
 */
NJ_API bool nj_download_get_file(const nj_download *download, nj_downloaded_file *out_file);

/**
 * Returns the path of the file, absolute and without symbolic links. The caller frees it with nj_text_free. NULL if the
 * download has not succeeded, if `download` is NULL, and after fork.
 */
NJ_NEW char *nj_download_path(const nj_download *download);

/**
 * Returns the text for the option `resume` of a later download, which may run in another process. It has the path of the
 * part and the validator, and no secrets. The caller frees it with nj_text_free. NULL if nothing was received, if the
 * content has no strong validator, if `download` is NULL, and after fork.
 */
NJ_NEW char *nj_download_resume_state(const nj_download *download);

/* ==================================================================================================================
 * nj_upload: uploads of files and streams
 *
 *   Created by   nj_client_upload, nj_client_start_upload; nj_upload_retain adds a reference
 *   Released by  nj_upload_release; releasing does not cancel
 *   Threads      any
 *
 * Each request is a call with the client's credentials, limits and proxies. The response is read while the body is sent.
 * A total timeout of the request limits each of these calls; the client's does not apply. The client does not send the
 * fields of the caller's request to another origin.
 *
 * After a failure, the upload continues at the first byte that the server does not have, in this or a later process, if
 * the protocol allows it. The file must not change: its size, modification time and inode are compared before an upload
 * continues and while it is sent. If they differ, the upload fails with NJ_CONTENT_CHANGED.
 *
 * An upload or a download with the option `id` is a transfer in the client's journal (nj_config_set_journal). The journal
 * keeps its state and its result. A later transfer with the same id, also in another process, continues it, or returns
 * its result without a request if it has succeeded, until nj_client_remove_transfer is called. It fails with
 * NJ_INVALID_ARGUMENT if its URL, method, file or protocol differs, and with NJ_STORAGE if the transfer is in progress. A
 * request that must not be repeated is recorded before it is sent: if the process ends before the response, a later
 * transfer fails with NJ_CONTENT_CHANGED. Only for files, and without a text for `resume`. A result that the journal has
 * kept has no response.
 *
 * Options, a JSON object:
 *
 *   id           an id of 1 to 256 bytes
 *   protocol     "put", the default: one PUT request. It is sent again after a failure.
 *                "post": one POST request. It is sent again only if the server cannot have processed it, or if the
 *                request has an idempotency key.
 *                "tus": tus 1.0.0
 *                "resumable": "Resumable Uploads for HTTP", draft-ietf-httpbis-resumable-upload, interop version 8
 *                "s3": a multipart upload of Amazon S3 and compatible servers to the URL of the object
 *                "oci": a blob of a container registry, to "/v2/NAME/blobs/uploads/"
 *   resume       a text of nj_upload_resume_state; the upload continues
 *   checksum     an algorithm (md5, sha1, sha256, sha384 or sha512), or an algorithm, a colon and the digest of the file.
 *                The server compares the digest: of each request (tus), of each part (s3: always MD5), of the content
 *                (Repr-Digest of RFC 9530; oci: always SHA-256). NJ_CHECKSUM_MISMATCH if the file has another digest.
 *   chunk_size   the maximum number of bytes in a request, 1 to 1099511627776. By default, tus, resumable and oci send
 *                the rest of the content; s3 uses parts of at least 8 MiB, at most 10,000. Not for put and post. The
 *                chunks of a stream are held in memory: 8 MiB by default.
 *   creation_with_upload
 *                whether tus sends the first bytes with the creation; false by default
 *   restart      whether a new upload is created if the server no longer has the upload; true by default. false: it fails
 *                with NJ_CONTENT_CHANGED.
 *   max_rate     bytes per second, 1 to 1099511627776; unlimited by default
 *   attempts     the number of consecutive failures without new data after which the upload fails, 1 to 1000000; 5 by
 *                default. Also the number of times that it may start over.
 *   retry_delay  the longest wait before the first attempt after a failure in seconds, 0 to 300; 1 by default. Waits are
 *                random, and double up to 60 seconds. A Retry-After of more than 60 seconds ends the upload.
 *   metadata     an object of texts: Upload-Metadata of tus, x-amz-meta- fields of s3
 *   type         the media type of the content; guessed from the name of the file by default
 * ================================================================================================================== */

/** The state of an upload. Members may be added. */
typedef enum nj_upload_state {
  NJ_UPLOAD_CONNECTING = 0, /* the file is being opened, or a request has not been sent */
  NJ_UPLOAD_SENDING = 1,
  NJ_UPLOAD_WAITING = 2,    /* an attempt has failed; another one follows after a wait */
  NJ_UPLOAD_PAUSED = 3,
  NJ_UPLOAD_VERIFYING = 4,  /* the digest of the content is computed */
  NJ_UPLOAD_ENDED = 5
} nj_upload_state;

/** The progress of an upload. */
typedef struct nj_upload_progress {
  nj_upload_state state;
  int64_t sent;     /* the bytes that the server has, or that are on the way to it */
  int64_t total;    /* the length of the content; -1 while it is not known */
  double rate;      /* bytes per second over the last 5 seconds; -1: not known */
  double time_left; /* seconds at this rate; -1: not known */
  int64_t expires;  /* the time when the server removes the upload if it is not complete, in seconds since 1970; -1: not
                     * known */
} nj_upload_progress;

/** A complete upload. */
typedef struct nj_uploaded_content {
  int64_t size;     /* its length in bytes */
  int64_t sent;     /* the body bytes that were sent, including those that were sent again */
  int64_t resumed;  /* the bytes that the server had from an earlier upload */
  int64_t attempts; /* the number of requests */
} nj_uploaded_content;

/** The callbacks of an upload. They are called one at a time. Each may be NULL, except `done` for a queue. */
typedef struct nj_upload_callbacks {
  size_t size; /* sizeof(nj_upload_callbacks) */
  /** Called about ten times a second while the progress changes. `progress` is borrowed. */
  void (*progress)(void *context, nj_upload *upload, const nj_upload_progress *progress);
  /**
   * Copies the next bytes of a stream to `buffer`, at most `capacity`. Used if `path` is NULL.
   *
   * @return the number of bytes; 0 at the end; NJ_READ_LATER if the source has no data yet: `read` is called again after
   *         nj_upload_resume_body; NJ_READ_FAILED if the source has failed: the upload fails with
   *         NJ_INVALID_REQUEST
   */
  int64_t (*read)(void *context, nj_upload *upload, void *buffer, size_t capacity);
  /** Called exactly once, as the last callback. `error` is borrowed; NULL: the upload is complete. */
  void (*done)(void *context, nj_upload *upload, const nj_error *error);
} nj_upload_callbacks;

/**
 * Uploads a file or a stream and blocks until the upload has ended. The callbacks run on this thread; `done` is not
 * called.
 *
 * @code
 *     FILE *file = fopen("example.txt", "w");
 *     fputs("some text", file);
 *     fclose(file);
 *     nj_request *request = nj_request_new("POST", "/tus");
 *     nj_upload *upload = NULL;
 *     const char options[] = "{\"protocol\": \"tus\"}";
 *     if (nj_client_upload(client, request, "example.txt", options, sizeof options - 1, NULL, NULL, &upload, &error) ==
 *         NJ_OK) {
 *       char *url = nj_upload_url(upload);
 *       printf("%s\n", url);
 *       nj_text_free(url);
 *     }
 *     nj_upload_release(upload);
 *     nj_request_free(request);
 *     remove("example.txt");
 * @endcode
 *
 * @param request    the request that creates the upload, without a body; copied. The protocol decides the method, except
 *                   that "resumable" uses PUT, POST or PATCH of the request.
 * @param path       the path of a regular file in UTF-8. NULL: callbacks->read provides the content. Such an upload
 *                   cannot be continued by another process. After failures, the client continues it, except
 *                   with "put" and "post".
 * @param options    a JSON object as described above; need not end with NUL. NULL: none
 * @param length     bytes of `options`
 * @param callbacks  copied; may be NULL if `path` is not NULL
 * @param out_upload receives the upload, also after a failure, so that nj_upload_resume_state can be called. The caller
 *                   releases it. NULL if nothing was started. May be NULL
 * @return NJ_OK; the errors of calls; NJ_INVALID_REQUEST if the file cannot be read, and for a request with a body;
 *         NJ_CONTENT_CHANGED; NJ_CHECKSUM_MISMATCH; NJ_PROTOCOL; NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not
 *         JSON; NJ_REENTRANT; NJ_CLOSED; NJ_FORKED
 */
NJ_API nj_status nj_client_upload(nj_client *client, const nj_request *request, const char *path, const char *options,
                                  size_t length, const nj_upload_callbacks *callbacks, void *context,
                                  nj_upload **out_upload, nj_error **out_error);

/**
 * Starts an upload without blocking.
 *
 * @param queue     the queue on which the callbacks run
 * @param callbacks copied; `done` is required
 * @param context   passed to the callbacks unchanged; must stay valid until `done` has returned
 * @return an upload that the caller releases, or NULL: NJ_INVALID_ARGUMENT; NJ_DECODING if `options` is not JSON;
 *         NJ_INVALID_REQUEST; NJ_CLOSED; NJ_FORKED. Other errors are reported to `done`.
 */
NJ_NEW nj_upload *nj_client_start_upload(nj_client *client, const nj_request *request, const char *path,
                                         const char *options, size_t length, nj_queue *queue,
                                         const nj_upload_callbacks *callbacks, void *context, nj_error **out_error);

/** Adds a reference. NULL if `upload` is NULL. */
NJ_API nj_upload *nj_upload_retain(nj_upload *upload);

/** Releases one reference. An upload in progress continues. NULL is ignored. */
NJ_API void nj_upload_release(nj_upload *upload);

/**
 * Cancels the request in progress. The server keeps what it has. A request that cannot be repeated continues. Does
 * nothing after the end, after fork, and for NULL.
 */
NJ_API void nj_upload_pause(nj_upload *upload);

/** Continues a paused upload. */
NJ_API void nj_upload_resume(nj_upload *upload);

/**
 * Calls the callback `read` again after it has returned NJ_READ_LATER. May also be called while `read` runs, before it
 * returns NJ_READ_LATER. Does nothing otherwise, and if `upload` is NULL. Any thread.
 */
NJ_API void nj_upload_resume_body(nj_upload *upload);

/**
 * Ends the upload with NJ_CANCELLED. Does nothing after the end, after fork, and for NULL.
 *
 * @param keep whether a later upload can continue. false: the server is requested to remove the upload, if it has
 *             responded to the creation. The first call decides.
 */
NJ_API void nj_upload_cancel(nj_upload *upload, bool keep);

/** Returns the progress. NJ_UPLOAD_ENDED if `upload` is NULL, and after fork. */
NJ_API nj_upload_progress nj_upload_get_progress(const nj_upload *upload);

/**
 * Returns whether the upload has succeeded. False if `upload` is NULL.
 *
 * @param out_content set to the properties of the content, 0 if there is none; may be NULL
 */
NJ_API bool nj_upload_get_content(const nj_upload *upload, nj_uploaded_content *out_content);

/**
 * Returns the URL of the resource that the server has created, or of the upload, with masked credentials. The caller
 * frees it with nj_text_free. NULL if the server has sent none, if the upload has not succeeded, if `upload` is NULL, and
 * after fork.
 */
NJ_NEW char *nj_upload_url(const nj_upload *upload);

/**
 * Returns the last response to the upload. The caller releases it with nj_response_release. NULL if it was lost after the
 * server had received the content, if the upload has not succeeded, if `upload` is NULL, and after fork.
 */
NJ_NEW nj_response *nj_upload_response(const nj_upload *upload);

/**
 * Returns the text for the option `resume` of a later upload, which may run in another process. The caller frees it with
 * nj_text_free. The text has the URL of the upload, which is often enough to write to it: protect it like a password.
 * NULL before the server has created the upload and after it is complete, for streams, put and post, if `upload` is NULL,
 * and after fork.
 */
NJ_NEW char *nj_upload_resume_state(const nj_upload *upload);

/**
 * Removes a transfer with an id from the client's journal, so that the id can be used for another transfer. Discards its
 * state and its result, but not its files. Has no effect if the journal has no such transfer. Blocks while another
 * process locks the journal, for at most 5 seconds.
 *
 * @return NJ_OK; NJ_STORAGE if the transfer is in progress, or if the journal cannot be used; NJ_INVALID_ARGUMENT for an
 *         invalid id or an ephemeral client; NJ_FORKED
 */
NJ_API nj_status nj_client_remove_transfer(nj_client *client, const char *id, nj_error **out_error);

/* ==================================================================================================================
 * nj_transfers: background transfers
 *
 *   Constructor  nj_transfers_new
 *   Destructor   nj_transfers_free
 *   Threads      any, except the destructor
 *
 * A background transfer is a download or an upload that a worker process performs: `nightjar transferd`. It is recorded
 * in a journal, and continues when the program that has started it has ended. If no worker runs, it waits for the next
 * one; nj_transfers_new can name a program that is started as a worker. Any program of the same user that opens the
 * journal can read and control it.
 *
 * The functions block for some milliseconds, for at most 5 seconds while another process locks the journal, and for at
 * most half a second if the worker does not report the progress. nj_transfers_start also blocks while it copies the
 * files of a form. They send no requests.
 *
 * A transfer keeps its result until it is removed. The worker repeats temporary failures with increasing delays, until
 * the time limit of the transfer. A transfer whose request must not be repeated is in doubt if its response is lost.
 *
 * Options, a JSON object:
 *
 *   download        the URL of a download                                             or `upload`
 *   to              the path of its file or, with a slash at its end, of the folder
 *   upload          the URL of an upload                                              or `download`
 *   from            the path of its file, which must not change
 *   body            in place of `from`, the content: a text. It is written to a file beside the journal that only the
 *                   user can read, and removed with the transfer or when the transfer is done
 *   body_base64     like `body`, any bytes, in base64 (RFC 4648 section 4)
 *   json            like `body`, a JSON value. Sets `type` to application/json
 *   form            like `body`, an object of form fields. Sets `type` to application/x-www-form-urlencoded
 *   multipart       like `body`, a form with files (RFC 7578): an array of {"name", "value"}, {"name", "bytes_base64"}
 *                   and {"name", "file"}, each with `filename` and `content_type`; or an object of names and values or
 *                   parts. The files are copied. Sets `type`
 *   method          the method of the request                                         default: GET; POST for uploads
 *   headers         an object of header fields
 *   client          an object of client options: headers, user_agent, timeout, redirect, tls, proxy, unix_socket, retry,
 *                   auth and others that need no memory of this program
 *   not_before      the earliest time of the start, in seconds since 1970             default: now
 *   unmetered       whether the transfer waits while the network is metered           default: false
 *   discretionary   whether it also waits while the machine runs on battery           default: false
 *   priority        -10 to 10; transfers with a higher priority start first           default: 0
 *   bandwidth_share 1 to 100: the weight when the worker divides its maximum rate     default: 1
 *   time_limit      seconds after which the transfer fails, 1 to 31,536,000           default: 604,800 (7 days)
 *   on_complete     an array: a program and its arguments. The worker starts it when the transfer has ended and was not
 *                   cancelled. Its environment has NIGHTJAR_TRANSFER_ID (the id), NIGHTJAR_TRANSFER_STATE (`done`,
 *                   `failed` or `in_doubt`) and NIGHTJAR_JOURNAL (the path of the journal). The program may be started
 *                   twice if the worker is killed                                     default: none
 *
 * The options of nj_client_download, of nj_client_upload and of requests are also allowed, except `id`, `resume` and
 * those that have no meaning for a transfer. The journal must not have secrets: options with passwords, tokens or
 * cookies are rejected. The worker reads credentials from a store, for example `"auth": {"type": "oauth2", "store":
 * "keyring:work", ...}` in `client`. Credentials and header fields of `client` are sent only to the origin of the URL.
 * ================================================================================================================== */

/** The state of a background transfer. Members may be added. */
typedef enum nj_transfer_state {
  NJ_TRANSFER_WAITING = 0,   /* for a worker, for its next attempt, or for its constraints */
  NJ_TRANSFER_RUNNING = 1,
  NJ_TRANSFER_PAUSED = 2,
  NJ_TRANSFER_DONE = 3,
  NJ_TRANSFER_FAILED = 4,    /* permanently; see nj_transfer_error */
  NJ_TRANSFER_CANCELLED = 5,
  NJ_TRANSFER_IN_DOUBT = 6   /* may be complete: the response to a request that must not be repeated was lost */
} nj_transfer_state;

/**
 * Creates an object for the background transfers of a journal.
 *
 * @param journal    the path of the journal. NULL: that of the user, `nightjar/journal.db` in `$XDG_STATE_HOME` or
 *                   `~/.local/state`
 * @param transferd  the path of the program `nightjar`. If no worker runs, nj_transfers_start, _resume, _retry, _wake,
 *                   _wait and _next_ended start this program as a worker, and fail with NJ_STORAGE if that fails; the
 *                   transfer is then recorded. NULL: no program is started
 * @return NULL with NJ_INVALID_ARGUMENT if `journal` is NULL and the environment variable HOME is not set, or if
 *         `transferd` cannot be executed. The other functions report errors of the journal.
 */
NJ_NEW nj_transfers *nj_transfers_new(const char *journal, const char *transferd, nj_error **out_error);

/** Frees the object. Transfers continue. NULL is ignored. */
NJ_API void nj_transfers_free(nj_transfers *transfers);

/**
 * Makes the worker read the journal immediately. If no worker runs, starts the program that was passed to
 * nj_transfers_new. The other functions do this when it is necessary. A program can call nj_transfers_wake when it
 * starts, so that interrupted transfers continue, for example after a restart of the machine.
 *
 * @return NJ_OK, also if no worker runs and no program was passed; NJ_STORAGE if the program could not be started
 */
NJ_API nj_status nj_transfers_wake(nj_transfers *transfers, nj_error **out_error);

/**
 * Records a transfer. If the journal has a transfer with this id and the same options, nothing changes, and that
 * transfer is returned.
 *
 * @param id      1 to 256 bytes, unique in the journal
 * @param json    the options; see above
 * @param length  the length of `json` in bytes
 * @return a transfer that the caller frees with nj_transfer_free. NULL with NJ_INVALID_ARGUMENT for an invalid option,
 *         for an option with a secret, and if the id belongs to a transfer with other options; NJ_INVALID_URL;
 *         NJ_DECODING if the options are not JSON; NJ_STORAGE if the journal cannot be used, or if the folder of the
 *         file does not exist; NJ_TOO_LARGE if the journal is full; for `multipart`, NJ_INVALID_REQUEST if a file cannot
 *         be read, and NJ_CONTENT_CHANGED if one was changed while it was copied
 */
NJ_NEW nj_transfer *nj_transfers_start(nj_transfers *transfers, const char *id, const char *json, size_t length,
                                       nj_error **out_error);

/**
 * Returns a transfer, which the caller frees with nj_transfer_free. NULL without an error if there is no transfer with
 * this id. NULL with NJ_STORAGE if the journal cannot be used.
 */
NJ_NEW nj_transfer *nj_transfers_get(nj_transfers *transfers, const char *id, nj_error **out_error);

/**
 * Returns the transfers in the order in which they were started. The caller frees the list with nj_transfer_list_free.
 * NULL with NJ_STORAGE if the journal cannot be used.
 */
NJ_NEW nj_transfer_list *nj_transfers_list(nj_transfers *transfers, nj_error **out_error);

/**
 * Waits for the end of a transfer, and blocks this thread meanwhile.
 *
 * @param timeout  seconds; 0: unlimited
 * @return the transfer, which has succeeded; the caller frees it with nj_transfer_free. NULL with the error of a
 *         transfer that has failed; NJ_CANCELLED; NJ_CONTENT_CHANGED if the transfer is in doubt; NJ_TIMEOUT (the
 *         transfer continues); NJ_INVALID_ARGUMENT if there is no transfer with this id; NJ_STORAGE
 */
NJ_NEW nj_transfer *nj_transfers_wait(nj_transfers *transfers, const char *id, double timeout, nj_error **out_error);

/**
 * Returns the next transfer that has ended. Blocks this thread until a transfer ends. A paused transfer has not ended.
 *
 * The function returns the end of each transfer of the journal once, also of transfers that another program has
 * started. After that, another nj_transfers object, also in another process, returns the end again until
 * nj_transfers_acknowledge or nj_transfers_remove is called.
 *
 * @param timeout  seconds; 0: unlimited
 * @return the transfer in any state that is an end; the caller frees it with nj_transfer_free. NULL without an error if
 *         no transfer is left: the ends of all transfers were returned. NULL with NJ_TIMEOUT if no transfer has ended in
 *         this time; NULL with NJ_STORAGE if the journal cannot be used
 */
NJ_NEW nj_transfer *nj_transfers_next_ended(nj_transfers *transfers, double timeout, nj_error **out_error);

/**
 * Pauses a transfer. A paused transfer does not change.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT if there is no transfer with this id; NJ_STORAGE if it has ended, or if the
 *         journal cannot be used
 */
NJ_API nj_status nj_transfers_pause(nj_transfers *transfers, const char *id, nj_error **out_error);

/** Continues a paused transfer. Another transfer does not change. Errors are those of nj_transfers_pause. */
NJ_API nj_status nj_transfers_resume(nj_transfers *transfers, const char *id, nj_error **out_error);

/**
 * Cancels a transfer, and removes what a download has received. A transfer that has ended does not change. A running
 * transfer ends when its worker has noticed the request, usually within a second.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT if there is no transfer with this id; NJ_STORAGE if the journal cannot be used
 */
NJ_API nj_status nj_transfers_cancel(nj_transfers *transfers, const char *id, nj_error **out_error);

/**
 * Starts a transfer again that has failed, was cancelled or is in doubt.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT if there is no transfer with this id; NJ_STORAGE in any other state, or if the
 *         journal cannot be used
 */
NJ_API nj_status nj_transfers_retry(nj_transfers *transfers, const char *id, nj_error **out_error);

/**
 * Returns the log of the workers, oldest entry first: a JSON array of objects with `time` (seconds since 1970), `id`,
 * `event` and `message`. The workers keep at least the last 1 MiB. The events are:
 *
 *   started   a worker has started or continued the transfer
 *   waiting   the transfer has failed temporarily and waits for its next attempt
 *   stopped   the transfer was paused, cancelled or interrupted
 *   in_doubt  the transfer may be complete: the response to a request that must not be repeated was lost
 *   done      the transfer has succeeded
 *   failed    the transfer has failed permanently
 *   program   the program of `on_complete` was started, or could not be started
 *
 * @param id          the id of a transfer. NULL: all transfers
 * @param out_length  receives the length in bytes; may be NULL
 * @return JSON text that the caller frees with nj_text_free; NULL with NJ_STORAGE if the log cannot be read
 */
NJ_NEW char *nj_transfers_log_json(nj_transfers *transfers, const char *id, size_t *out_length, nj_error **out_error);

/**
 * Confirms that the caller has processed the end of a transfer. Removes the transfer and its result, but not its file.
 * Has no effect if there is no transfer with this id.
 *
 * @return NJ_OK; NJ_STORAGE if the transfer has not ended, or if the journal cannot be used
 */
NJ_API nj_status nj_transfers_acknowledge(nj_transfers *transfers, const char *id, nj_error **out_error);

/**
 * Removes a transfer that does not run, with its result but not with its file. Has no effect if there is no transfer
 * with this id.
 *
 * @return NJ_OK; NJ_STORAGE if the transfer runs, or if the journal cannot be used
 */
NJ_API nj_status nj_transfers_remove(nj_transfers *transfers, const char *id, nj_error **out_error);

/** Frees a list and its transfers. NULL is ignored. */
NJ_API void nj_transfer_list_free(nj_transfer_list *list);

/** Returns the number of transfers of a list. 0 if `list` is NULL. */
NJ_API size_t nj_transfer_list_count(const nj_transfer_list *list);

/** Returns a transfer of a list, which must not be freed. NULL if there is no transfer at this index. */
NJ_API const nj_transfer *nj_transfer_list_at(const nj_transfer_list *list, size_t index);

/** Frees a transfer that a function has returned. NULL is ignored. */
NJ_API void nj_transfer_free(nj_transfer *transfer);

/** Returns the id of a transfer. NULL if `transfer` is NULL. */
NJ_API const char *nj_transfer_id(const nj_transfer *transfer);

/** Reports whether a transfer is an upload, and not a download. False if `transfer` is NULL. */
NJ_API bool nj_transfer_is_upload(const nj_transfer *transfer);

/** Returns the state of a transfer. NJ_TRANSFER_WAITING if `transfer` is NULL. */
NJ_API nj_transfer_state nj_transfer_get_state(const nj_transfer *transfer);

/** Returns the URL of a transfer, with masked credentials. NULL if `transfer` is NULL. */
NJ_API const char *nj_transfer_url(const nj_transfer *transfer);

/**
 * Returns the absolute path of the file. Of a finished download, its final path. NULL if `transfer` is NULL.
 */
NJ_API const char *nj_transfer_path(const nj_transfer *transfer);

/** Returns the URL of a complete upload. NULL for other transfers, and if the server has named no URL. */
NJ_API const char *nj_transfer_upload_url(const nj_transfer *transfer);

/**
 * Returns the number of bytes that a download has received or an upload has sent. 0 for an upload that is neither
 * running nor complete, and if `transfer` is NULL.
 */
NJ_API int64_t nj_transfer_transferred(const nj_transfer *transfer);

/** Returns the size of the content in bytes. -1 if it is not known, or if `transfer` is NULL. */
NJ_API int64_t nj_transfer_total(const nj_transfer *transfer);

/**
 * Returns the rate of a transfer: bytes per second over the last 5 seconds. -1 if the rate is not known, for example
 * because the transfer does not run or has just started, and if `transfer` is NULL.
 */
NJ_API double nj_transfer_rate(const nj_transfer *transfer);

/** Returns the number of times that a worker has worked on a transfer. 0 if `transfer` is NULL. */
NJ_API size_t nj_transfer_attempts(const nj_transfer *transfer);

/** Returns the error of a transfer that has failed, which must not be released. NULL in other states. */
NJ_API const nj_error *nj_transfer_error(const nj_transfer *transfer);

/* ==================================================================================================================
 * nj_outbox: writes that are sent until they are accepted
 *
 *   Constructor  nj_outbox_new
 *   Destructor   nj_outbox_free
 *   Threads      any, except the destructor
 *
 * An outbox records writes in the client's journal (nj_config_set_journal) before it sends them: the pattern of the
 * transactional outbox. The entries of one key are sent in the order in which they were recorded, those of different
 * keys concurrently. The idempotency key and If-Match are fixed when an entry is recorded. Each attempt is a call of
 * the client with its login, proxies and limits.
 *
 * An entry is done when its response is stored. Failures are retried with increasing waits, and immediately when the
 * network returns. These entries are held until the program decides (nj_outbox_resolve, _retry or _remove):
 *
 *   conflict  the resource has changed: 409 or 412. The entry has both versions
 *   parked    the server has rejected the write, or `max_attempts` or `max_age` was reached
 *   in doubt  the response to a write without an idempotency key was lost
 *
 * A held entry blocks the later entries of its key only. Any number of processes may open the same outbox. Each entry is
 * sent by one of them at a time. If a process is killed, the others continue at once.
 *
 * All functions but nj_outbox_wait block for some milliseconds, and for at most 5 seconds while another process locks
 * the journal.
 *
 * Options, a JSON object:
 *
 *   name             1 to 64 bytes. Outboxes of a journal with the same name share their entries  default: "default"
 *   concurrency      the number of entries that are sent concurrently, 1 to 64                    default: 4
 *   max_entries      the number of entries that are not done                                      default: 10,000
 *   max_bytes        their size in bytes                                                          default: 64 MiB
 *   max_age          seconds after which an entry is parked                                       default: 604,800
 *   max_attempts     attempts that reached a server, after which an entry is parked               default: 20
 *   retry_delay      the upper bound of the first wait in seconds, which doubles                  default: 1
 *   max_retry_delay  the upper bound of all waits in seconds                                      default: 300
 *   keep             seconds for which an entry that is done is kept with its response            default: 86,400
 *   keep_entries     the number of these entries. The oldest are removed first                    default: 1000
 *   send             false: this outbox records, reads and decides, and sends no entries. Other
 *                    processes, or a later opening, send them                                     default: true
 * ================================================================================================================== */

/** The state of an entry of an outbox. Members may be added. */
typedef enum nj_outbox_state {
  NJ_OUTBOX_PENDING = 0, /* waits for earlier entries of its key, for its next attempt, or for the network */
  NJ_OUTBOX_SENDING = 1,
  NJ_OUTBOX_CONFLICT = 2,
  NJ_OUTBOX_PARKED = 3,
  NJ_OUTBOX_IN_DOUBT = 4,
  NJ_OUTBOX_DONE = 5
} nj_outbox_state;

/** Receives an entry whose state has changed. `entry` is borrowed until the callback returns. */
typedef void (*nj_outbox_fn)(void *context, const nj_outbox_entry *entry);

/**
 * Opens an outbox, and starts to send its entries unless the option `send` is false.
 *
 * @param options a JSON object of `length` bytes, see above. NULL: the defaults
 * @param queue   the queue on which `changed` is delivered, and on which the callbacks of the client run: hooks, token
 *                providers and challenges. A client without callbacks sends entries also while the queue is not polled
 * @param changed called from nj_queue_poll for each attempt of this outbox that has ended, after its outcome is stored.
 *                Changes of other processes are not reported. NULL: none are reported
 * @return an outbox, owned by the caller. NULL on failure: NJ_INVALID_ARGUMENT, also for an ephemeral client and if the
 *         journal has no path; NJ_DECODING if the options are not JSON; NJ_CLOSED; NJ_FORKED
 */
NJ_NEW nj_outbox *nj_outbox_new(nj_client *client, const char *options, size_t length, nj_queue *queue,
                                nj_outbox_fn changed, void *context, nj_error **out_error);

/**
 * Closes an outbox. Its entries stay in the journal. Calls in flight are cancelled; their entries are sent again by
 * another process, or when the outbox is opened again. The callback is not called again. Waits for a write of the journal
 * in progress. NULL is ignored.
 */
NJ_API void nj_outbox_free(nj_outbox *outbox);

/**
 * Records a write. When the function returns, the entry survives a power failure. An entry with the same id and the same
 * write is returned unchanged.
 *
 * The method, the URL, the header fields, the body, the idempotency key, the limit group and the tags of
 * nj_request_set_invalidates are recorded. The tags are invalidated in the process that sends the entry. The other
 * settings are those of the client when the entry is sent.
 *
 * @param request the request, with a body of at most 1 MiB in memory, and without credentials
 * @param options NULL, or a JSON object of `length` bytes:
 *                - `id`: 1 to 256 bytes, unique in the journal. Default: a random one
 *                - `key`: the order key, 1 to 256 bytes. Default: the URL without its query
 *                - `if_match`: the ETag of the version that the write changes. Default: If-Match of the request
 *                - `idempotency_key`: false if the server ignores Idempotency-Key. None is then sent, and a POST or
 *                  PATCH whose response was lost is in doubt and not repeated. Default: true
 * @return the entry, owned by the caller. NULL on failure: NJ_INVALID_ARGUMENT, also for a field with a secret and if the
 *         id belongs to another write; NJ_TOO_LARGE if a limit is reached, which the message names; NJ_INVALID_URL;
 *         NJ_STORAGE; NJ_FORKED
 */
NJ_NEW nj_outbox_entry *nj_outbox_record(nj_outbox *outbox, const nj_request *request, const char *options, size_t length,
                                         nj_error **out_error);

/** Returns an entry, owned by the caller. NULL if there is none with this id; NULL with NJ_STORAGE on failure. */
NJ_NEW nj_outbox_entry *nj_outbox_get(nj_outbox *outbox, const char *id, nj_error **out_error);

/**
 * Returns the entries in the order in which they were recorded: a JSON array of the objects of nj_outbox_entry_json.
 *
 * @param out_length  receives the length in bytes; may be NULL
 * @return JSON text that the caller frees with nj_text_free; NULL with NJ_STORAGE on failure
 */
NJ_NEW char *nj_outbox_list_json(nj_outbox *outbox, size_t *out_length, nj_error **out_error);

/**
 * Waits until an entry is done, and blocks meanwhile. If the client has callbacks, another thread must poll the queue.
 *
 * @param timeout seconds. 0: unlimited
 * @return the entry, owned by the caller. NULL on failure: the error of an entry that is held; NJ_TIMEOUT, after which
 *         the entry is still sent; NJ_INVALID_ARGUMENT if there is no entry with this id; NJ_STORAGE; NJ_FORKED
 */
NJ_NEW nj_outbox_entry *nj_outbox_wait(nj_outbox *outbox, const char *id, double timeout, nj_error **out_error);

/**
 * Sends an entry that is held again, with the same body and If-Match. The idempotency key is also the same if an earlier
 * attempt may have been processed. Otherwise it is a new one, because servers repeat the responses to known keys.
 *
 * The wait of a pending entry for its next attempt ends, without a new key. Has no effect while the entry is sent.
 *
 * @return NJ_OK; NJ_STORAGE if the entry is done; NJ_INVALID_ARGUMENT if there is no entry with this id; NJ_FORKED
 */
NJ_API nj_status nj_outbox_retry(nj_outbox *outbox, const char *id, nj_error **out_error);

/**
 * Sends an entry that is held with another body or another If-Match, and with a new idempotency key.
 *
 * @param json a JSON object of `length` bytes with the new body as `json`, `body`, `body_base64` or `form`, and with
 *             `if_match`. Without a body, the program's version replaces that of the server. Without `if_match`, the
 *             ETag of the server's version is sent. NULL: an empty object
 * @return NJ_OK; NJ_STORAGE if the entry is not held; NJ_INVALID_ARGUMENT; NJ_TOO_LARGE; NJ_DECODING; NJ_FORKED
 */
NJ_API nj_status nj_outbox_resolve(nj_outbox *outbox, const char *id, const char *json, size_t length,
                                   nj_error **out_error);

/**
 * Removes an entry: a write that is not to be sent, or a response that was processed. Has no effect if there is no entry
 * with this id.
 *
 * @return NJ_OK; NJ_STORAGE while the entry is sent, or if the journal cannot be used; NJ_FORKED
 */
NJ_API nj_status nj_outbox_remove(nj_outbox *outbox, const char *id, nj_error **out_error);

/** Frees an entry that a function has returned. NULL is ignored. */
NJ_API void nj_outbox_entry_free(nj_outbox_entry *entry);

/** Returns the id of an entry. NULL if `entry` is NULL. */
NJ_API const char *nj_outbox_entry_id(const nj_outbox_entry *entry);

/** Returns the state of an entry. NJ_OUTBOX_PENDING if `entry` is NULL. */
NJ_API nj_outbox_state nj_outbox_entry_state(const nj_outbox_entry *entry);

/** Returns the error of the last attempt, which must not be released. NULL if there is none. */
NJ_API const nj_error *nj_outbox_entry_error(const nj_outbox_entry *entry);

/**
 * Returns an entry as a JSON object, without members for unknown values: `id`, `key`, `method`, `url`, `state`
 * (`pending`, `sending`, `conflict`, `parked`, `in_doubt` or `done`), `attempts`, `if_match`, `error` (with `kind`,
 * `message`, `status` and `may_have_been_processed`), `created` and `updated` (seconds since 1970). An entry that is done
 * or rejected has `response`, a held entry has `mine`, a conflict also has `theirs`: objects with `status`, `etag`,
 * `last_modified`, `location`, `type`, and the body as `json`, `body` or `body_base64`. Response bodies above 256 KiB are
 * not stored.
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return a text that lives as long as the entry; NULL if `entry` is NULL
 */
NJ_API const char *nj_outbox_entry_json(const nj_outbox_entry *entry, size_t *out_length);

/* ==================================================================================================================
 * nj_script: a Lua 5.4 interpreter
 *
 *   Constructor  nj_script_new
 *   Destructor   nj_script_free
 *   Threads      one at a time, except nj_script_interrupt: any
 *
 * The interpreter has the standard library and the module `nightjar` (require "nightjar"). The script's code, and the
 * functions of the host that it calls, run on the host's threads: in nj_script_run and nj_script_invoke on the calling
 * thread, after nj_script_start_run and nj_script_start_invoke on the thread that polls the queue. Threads of the library
 * wait for files, descriptors and events. They start with the first wait and end with the script. Processes that the
 * script starts (nightjar.process) also end with the script. The interpreter never reaps other child processes of the
 * host.
 *
 * The host and the script exchange values as JSON:
 *
 *   JSON           Lua
 *   -------------  -------------------------------------------------------------------------------------------------
 *   null           nil as an argument, a result or a global; nightjar.null inside tables
 *   number         an integer if it has no fraction or exponent and is within int64, otherwise a float. A float whose
 *                  magnitude is below 2^53 and that has no fraction, such as 2.0, is written as an integer. NaN and
 *                  infinite numbers are errors.
 *   string         a string. A string that is not UTF-8 is an error.
 *   array, object  a table with the keys 1 to n, or with keys that are strings. A table without keys is an object, or an
 *                  array if nightjar.array or JSON has made it. Other keys are errors. The members of objects are
 *                  written in the byte order of their names.
 *
 * Functions, coroutines, userdata, tables that contain themselves, and more than 1024 levels are errors. An error names
 * the place: "results[1].on_end: a function cannot be represented in JSON". Metamethods are never called. The texts count
 * against the memory limit while they are written.
 *
 * @code
 *     static void twice(void *context, nj_script_call *call) {
 *       (void)context;
 *       nj_script_call_return_integer(call, 2 * nj_script_call_integer(call, 0));
 *     }
 *
 *     static void evaluate(nj_client *client, nj_error **error) {
 *       static const char source[] = "assert(twice(21) == 42)";
 *       nj_script *script = nj_script_new(client);
 *       nj_script_set_time_limit(script, 10);
 *       if (nj_script_register(script, "twice", twice, NULL, error) == NJ_OK)
 *         nj_script_run(script, source, sizeof source - 1, "example", NULL, NULL, error);
 *       nj_script_free(script);
 *     }
 * @endcode
 * ================================================================================================================== */

/**
 * Creates a script.
 *
 * @param client the client that `nightjar.client()` returns if it has no options. The script keeps the client alive.
 *               NULL: the script creates its own clients. nightjar.log writes to the log of `client`
 *               (nj_config_set_log); without a log, to standard error, or nowhere in a sandbox.
 * @return never NULL
 */
NJ_NEW nj_script *nj_script_new(nj_client *client);

/**
 * Frees a script. Must not be called from inside a function that the script has called. A run that nj_script_start_run or
 * nj_script_start_invoke has started is cancelled; the script then exists until the end of this run. NULL is ignored.
 */
NJ_API void nj_script_free(nj_script *script);

/* --- Limits and sandbox. These functions must be called before the script is used: before its first run, registered
 * function or global. Afterwards they fail with NJ_INVALID_ARGUMENT.
 *
 * A limit or nj_script_interrupt ends a script between two instructions of the Lua machine and while the script waits. In
 * a sandbox, they also end a script inside library functions in C; the work of these functions counts as instructions.
 * Without a sandbox, a library function can run for any time: string.find and similar functions take exponential time
 * for some patterns.
 * --- */

/**
 * Makes the script a sandbox, for scripts that the host does not trust. False by default.
 *
 * - Lua: io, os, debug, package, dofile, loadfile, collectgarbage, string.dump, print, warn and the modules fs, process,
 *   stdin, args and env of `nightjar` are absent. `load` accepts text only. Finalizers (`__gc`) are rejected.
 * - Client: the script uses the client of nj_script_new and cannot create others. Its calls go to the origin of the
 *   client's base URL, at or below the path of that URL (nj_script_set_path_scope), and to the origins of
 *   nj_script_allow_origin. Redirects and next pages to other origins or paths fail. TRACE, TRACK, CONNECT, limit groups
 *   and headers that select another host or method (Host, Forwarded and others) are rejected.
 * - State: if the client has a cookie jar or a cache, the script has its own jar or cache in memory, empty at first. The
 *   cache uses at most a sixteenth of the memory limit, and at most 4 MiB, in addition to the limit.
 * - Secrets: the script does not see Set-Cookie and other response headers that carry credentials, the secrets in the
 *   URLs of redirects, or request headers that it has not set. A server that echoes requests in its responses can
 *   still reveal them.
 * - Options of a call (timeout, max_body, retry, redirect, respect_retry_after) can be stricter than the client's,
 *   not looser.
 * - Log: a script may log 10,000 lines or 4 MiB at once, and on average 100 lines or 64 KiB a second. A script that
 *   exceeds this limit is stopped.
 *
 * A sandboxed script ends within about a second after it reached a limit or nj_script_interrupt was called, also inside
 * message handlers and closers of `<close>` variables. After a stop, each coroutine has 1000 instructions for
 * its closers, or none if a C function was interrupted. The host must bound the run time of the functions that it
 * registers.
 *
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the script has been used; NJ_FORKED
 */
NJ_API nj_status nj_script_set_sandboxed(nj_script *script, bool sandboxed);

/**
 * Allows a sandboxed script to call the origin of a URL, in addition to the origin of its client's base URL. At most
 * 10,000 origins.
 *
 * @return NJ_OK; NJ_INVALID_URL if `url` is not a URL; NJ_INVALID_ARGUMENT, also if the script has been used;
 *         NJ_FORKED. The first run fails with NJ_INVALID_ARGUMENT if the script is not sandboxed.
 */
NJ_API nj_status nj_script_allow_origin(nj_script *script, const char *url);

/**
 * Restricts the calls of a sandboxed script to the base URL's origin to a path and the paths below it: see
 * nj_config_set_path_scope.
 *
 * @param path an encoded path; the path of the base URL by default. "/": all paths.
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if `path` is not an encoded path or the script has been used; NJ_FORKED.
 *         The first run fails with NJ_INVALID_ARGUMENT if the script is not sandboxed or its client has no base URL.
 */
NJ_API nj_status nj_script_set_path_scope(nj_script *script, const char *path);

/**
 * Limits the memory of Lua and of its JSON parser. In a sandbox it also limits the memory for the script's calls:
 * request bodies that have not been sent, response bodies that the script refers to, and 8 KiB for each call.
 *
 * @param bytes 268435456 (256 MiB) by default; 0: no limit
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the script has been used; NJ_FORKED
 */
NJ_API nj_status nj_script_set_memory_limit(nj_script *script, size_t bytes);

/**
 * Limits the instructions of the Lua machine in one run, to the nearest 1000. Each coroutine and task counts as 100
 * instructions.
 *
 * @param count 100000000000 by default, which is about ten minutes of computation; 0: no limit
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the script has been used; NJ_FORKED
 */
NJ_API nj_status nj_script_set_instruction_limit(nj_script *script, size_t count);

/**
 * Limits the instructions between two waits.
 *
 * @param count 1000000000 by default, which is a few seconds; 0: no limit
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the script has been used; NJ_FORKED
 */
NJ_API nj_status nj_script_set_burst_limit(nj_script *script, size_t count);

/**
 * Limits the duration of one run, including waits.
 *
 * @param seconds 0 to 3153600000; 3600 by default. NJ_NO_LIMIT (0) and INFINITY: no limit.
 * @return NJ_OK; NJ_INVALID_ARGUMENT, also if the script has been used; NJ_FORKED
 */
NJ_API nj_status nj_script_set_time_limit(nj_script *script, double seconds);

/* --- Running --- */

/**
 * Runs a chunk of Lua, and returns when the chunk and all tasks that it spawned have ended. Globals are kept for the
 * next run.
 *
 * @param source      Lua text; need not end with NUL. Bytecode is rejected.
 * @param length      bytes of `source`
 * @param name        the name of the chunk in messages; NULL: "script"
 * @param out_results receives the results of the chunk as the text of a JSON array, "[]" if there are none. The caller
 *                    frees it with nj_text_free. NULL after a failure. If `out_results` is NULL, the results are
 *                    discarded, and may be values that JSON cannot represent.
 * @param out_length  receives the length of the results in bytes, 0 for NULL; may be NULL
 * @return NJ_OK; NJ_SCRIPT for a syntax error, an error that the script has not caught (the message has a traceback),
 *         a result that JSON cannot represent, a limit or an interrupt; NJ_REENTRANT from inside a function that this
 *         script has called, and while a started run is in progress; NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_API nj_status nj_script_run(nj_script *script, const char *source, size_t length, const char *name,
                               char **out_results, size_t *out_length, nj_error **out_error);

/**
 * Runs a file as nj_script_run does.
 *
 * @return as for nj_script_run; NJ_SCRIPT also if the file cannot be read
 */
NJ_API nj_status nj_script_run_file(nj_script *script, const char *path, char **out_results, size_t *out_length,
                                    nj_error **out_error);

/**
 * Calls a global function of the script as nj_script_run runs a chunk: with the same limits, and until the function and
 * all tasks that it spawned have ended.
 *
 * @param function  the name of a global; also a table with the metamethod `__call`. Metamethods of the globals are
 *                  ignored.
 * @param arguments the text of a JSON array, whose elements become the arguments; NULL, with a length of 0: no arguments
 * @param length    bytes of `arguments`
 * @return as for nj_script_run; NJ_SCRIPT also if the global is not a function; NJ_DECODING if `arguments` is not JSON;
 *         NJ_TOO_LARGE for 4 GiB or more
 */
NJ_API nj_status nj_script_invoke(nj_script *script, const char *function, const char *arguments, size_t length,
                                  char **out_results, size_t *out_length, nj_error **out_error);

/**
 * Called exactly once, from nj_queue_poll, after a run that was started has ended.
 *
 * @param results the results as the text of a JSON array, borrowed until the callback returns; NULL after a failure
 * @param length  bytes of `results`, 0 for NULL
 * @param error   NULL after success; otherwise NJ_SCRIPT, as for nj_script_run; NJ_CANCELLED after nj_task_cancel,
 *                nj_script_free or nj_queue_free; NJ_STORAGE if no thread could be started to wait for events
 */
typedef void (*nj_script_done_fn)(void *context, nj_task *task, const char *results, size_t length,
                                  const nj_error *error);

/**
 * Starts a run of a chunk without blocking. The run proceeds in nj_queue_poll, a step at a time. The script's code and
 * the functions of the host that it calls run on the thread that polls.
 *
 * - While the script waits for calls, timers, files, and so on, none of its code runs. The queue's descriptor is
 *   readable when the script can continue.
 * - A script that computes without waiting blocks nj_queue_poll, at most until nj_script_set_burst_limit ends the run. So
 *   does a script that waits where Lua cannot yield, for example in the comparison of table.sort, a metamethod, or a
 *   closer of a `<close>` variable.
 * - The other limits are those of nj_script_run. The time limit begins with this function.
 * - nj_task_cancel ends the run as nj_script_interrupt does, from any thread.
 *
 * Until `done` is called, only the thread that polls the queue may use the script, and nj_script_run, _invoke and the
 * functions that start a run fail with NJ_REENTRANT. nj_script_interrupt may be called by any thread.
 *
 * @param source as for nj_script_run; copied
 * @param done   receives the results or the error. A chunk with a syntax error fails there. A result that JSON cannot
 *               represent is an error.
 * @return a task owned by the caller (release it with nj_task_release; releasing does not cancel), or NULL with
 *         NJ_REENTRANT; NJ_CLOSED if the queue is being freed; NJ_INVALID_ARGUMENT; NJ_FORKED
 */
NJ_NEW nj_task *nj_script_start_run(nj_script *script, const char *source, size_t length, const char *name,
                                    nj_queue *queue, nj_script_done_fn done, void *context, nj_error **out_error);

/**
 * Starts a call of a global function without blocking, as nj_script_start_run starts a run of a chunk.
 *
 * @param function  as for nj_script_invoke; copied. If the global is not a function, `done` receives the error.
 * @param arguments as for nj_script_invoke; copied
 * @return as for nj_script_start_run; NULL also with NJ_DECODING or NJ_TOO_LARGE, as for nj_script_invoke
 */
NJ_NEW nj_task *nj_script_start_invoke(nj_script *script, const char *function, const char *arguments, size_t length,
                                       nj_queue *queue, nj_script_done_fn done, void *context, nj_error **out_error);

/**
 * Ends the current run with an error that the script cannot catch. Any thread. Does nothing without a run, and after
 * fork.
 */
NJ_API void nj_script_interrupt(nj_script *script);

/**
 * Sets a global of the script.
 *
 * @param bytes a Lua string, which may contain NUL; may be NULL if `length` is 0
 * @return NJ_OK; NJ_SCRIPT if the memory limit is reached; NJ_INVALID_ARGUMENT, also if a run would fail because of
 *         nj_script_allow_origin or nj_script_set_path_scope; NJ_FORKED
 */
NJ_API nj_status nj_script_set_boolean(nj_script *script, const char *name, bool value);
NJ_API nj_status nj_script_set_integer(nj_script *script, const char *name, int64_t value);
NJ_API nj_status nj_script_set_number(nj_script *script, const char *name, double value);
NJ_API nj_status nj_script_set_string(nj_script *script, const char *name, const void *bytes, size_t length);

/**
 * Sets a global of the script to a value of JSON. Metamethods of the globals are ignored.
 *
 * @param json   JSON text; need not end with NUL. null sets the global to nil.
 * @param length bytes of `json`
 * @return NJ_OK; NJ_DECODING if `json` is not JSON; NJ_TOO_LARGE for 4 GiB or more; NJ_SCRIPT if the memory limit is
 *         reached; NJ_INVALID_ARGUMENT, also if a run would fail because of nj_script_allow_origin or
 *         nj_script_set_path_scope; NJ_FORKED
 */
NJ_API nj_status nj_script_set_json(nj_script *script, const char *name, const char *json, size_t length,
                                    nj_error **out_error);

/**
 * Reads a global of the script as JSON. Metamethods are not called. Between two runs, the limits of a run apply.
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return JSON text that the caller frees with nj_text_free, "null" if there is no such global; NULL with NJ_SCRIPT if
 *         JSON cannot represent the value, or if a limit is reached; NJ_INVALID_ARGUMENT as for nj_script_set_json;
 *         NJ_FORKED
 */
NJ_NEW char *nj_script_get_json(nj_script *script, const char *name, size_t *out_length, nj_error **out_error);

/**
 * A host function that scripts call. Runs inside nj_script_run, or inside nj_queue_poll if the run was started without
 * blocking, on the thread that runs the script. The function reads its arguments and adds its results with the functions
 * below, or defers its result (nj_script_call_defer). It must not run the script.
 *
 * @param call borrowed until the function returns
 */
typedef void (*nj_script_fn)(void *context, nj_script_call *call);

/**
 * Sets a global of the script to a host function.
 *
 * @param context passed to `function` unchanged; must stay valid until the script is freed
 * @return NJ_OK; NJ_SCRIPT if the memory limit is reached; NJ_INVALID_ARGUMENT, also if a run would fail because of
 *         nj_script_allow_origin or nj_script_set_path_scope; NJ_FORKED
 */
NJ_API nj_status nj_script_register(nj_script *script, const char *name, nj_script_fn function, void *context,
                                    nj_error **out_error);

/* ==================================================================================================================
 * nj_script_call: a script's call of a host function
 *
 *   Borrowed by  nj_script_fn, until it returns
 *   Threads      only the thread that runs nj_script_fn
 *
 * Arguments have indexes from 0. The getters of arguments return the value for "none" if the argument has another kind
 * or does not exist.
 * ================================================================================================================== */

/** The kind of a Lua value that a host function can exchange. Members may be added. */
typedef enum nj_value_kind {
  NJ_VALUE_NIL = 0, /* also an argument that was not given */
  NJ_VALUE_BOOLEAN = 1,
  NJ_VALUE_INTEGER = 2,
  NJ_VALUE_NUMBER = 3, /* a floating-point number */
  NJ_VALUE_STRING = 4,
  NJ_VALUE_OTHER = 5 /* a table (nj_script_call_json), a function, a response and so on */
} nj_value_kind;

/** Returns the number of arguments. 0 if `call` is NULL. */
NJ_API size_t nj_script_call_count(const nj_script_call *call);

/** Returns the kind of an argument. NJ_VALUE_NIL if `index` is out of range. */
NJ_API nj_value_kind nj_script_call_kind(const nj_script_call *call, size_t index);

/** Returns a boolean argument. False if it has another kind. */
NJ_API bool nj_script_call_boolean(const nj_script_call *call, size_t index);

/** Returns a numeric argument as an integer. 0 if it has another kind or no exact integer value. */
NJ_API int64_t nj_script_call_integer(const nj_script_call *call, size_t index);

/** Returns a numeric argument as a double. 0 if it has another kind. */
NJ_API double nj_script_call_number(const nj_script_call *call, size_t index);

/**
 * Returns a string argument, followed by NUL and valid until the function returns.
 *
 * @param out_length receives the length without NUL; may be NULL
 * @return NULL, with a length of 0, if the argument has another kind
 */
NJ_API const char *nj_script_call_string(const nj_script_call *call, size_t index, size_t *out_length);

/**
 * Returns an argument of any kind as JSON text, valid until the function returns; "null" if `index` is out of range. See
 * nj_script for the representation.
 *
 * @param out_length receives the length in bytes, 0 for NULL; may be NULL
 * @return NULL if JSON cannot represent the argument, or if a limit is reached. The call then raises an error with the
 *         reason when the function returns, unless the function calls nj_script_call_fail. Also NULL if `call` is NULL.
 */
NJ_API const char *nj_script_call_json(nj_script_call *call, size_t index, size_t *out_length);

/**
 * Adds a result after the earlier ones. `bytes` is copied and may be NULL if `length` is 0; if `bytes` is NULL and
 * `length` is not 0, no result is added.
 */
NJ_API void nj_script_call_return_nil(nj_script_call *call);
NJ_API void nj_script_call_return_boolean(nj_script_call *call, bool value);
NJ_API void nj_script_call_return_integer(nj_script_call *call, int64_t value);
NJ_API void nj_script_call_return_number(nj_script_call *call, double value);
NJ_API void nj_script_call_return_string(nj_script_call *call, const void *bytes, size_t length);

/**
 * Adds a result, given as JSON text, after the earlier ones.
 *
 * @return NJ_OK; NJ_DECODING if `json` is not JSON; NJ_TOO_LARGE for 4 GiB or more; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_script_call_return_json(nj_script_call *call, const char *json, size_t length);

/**
 * Makes the call raise an error in the script when the host function returns. The results of the call are discarded.
 *
 * @param message copied; NULL and text that is not UTF-8 are replaced by a general message
 */
NJ_API void nj_script_call_fail(nj_script_call *call, const char *message);

/**
 * Defers the result of the call: after the function has returned, the calling task of the script waits until the host
 * provides the result with the reply. The other tasks of the script continue. Results that the function adds are
 * discarded. If the function calls nj_script_call_fail, the call fails at once.
 *
 * The wait ends early when the task is cancelled (task:cancel, nightjar.timeout), at a limit, and when the run is
 * cancelled or interrupted. If the host neither uses nor releases the reply, only these events end the wait.
 *
 * @return a reply owned by the caller; NULL if the call was deferred before, or if `call` is NULL
 */
NJ_NEW nj_script_reply *nj_script_call_defer(nj_script_call *call);

/* ==================================================================================================================
 * nj_script_reply: the result of a deferred call of a host function
 *
 *   Created by   nj_script_call_defer
 *   Released by  nj_script_reply_release
 *   Threads      any
 *
 * A reply provides one result. It may outlive the call, the run and the script.
 *
 * @code
 *     static nj_script_reply *pending;
 *
 *     static void ask(void *context, nj_script_call *call) {
 *       (void)context;
 *       pending = nj_script_call_defer(call);
 *     }
 *
 *     static void done(void *context, nj_task *task, const char *results, size_t length, const nj_error *failure) {
 *       (void)task;
 *       (void)length;
 *       printf("%s\n", results ? results : nj_error_message(failure));
 *       *(bool *)context = true;
 *     }
 *
 *     static void start(nj_client *client, nj_error **error) {
 *       static const char source[] = "return ask('name').text";
 *       nj_script *script = nj_script_new(client);
 *       nj_queue *queue = nj_queue_new();
 *       bool is_done = false;
 *       if (nj_script_register(script, "ask", ask, NULL, error) == NJ_OK)
 *         nj_task_release(nj_script_start_run(script, source, sizeof source - 1, NULL, queue, done, &is_done, error));
 *       while (!*error && !is_done) {
 *         nj_queue_poll(queue, 1);
 *         if (!pending) continue;
 *         static const char text[] = "{\"text\": \"Ada\"}";
 *         nj_script_reply_return_json(pending, text, sizeof text - 1);
 *         nj_script_reply_release(pending);
 *         pending = NULL;
 *       }
 *       nj_script_free(script);
 *       nj_queue_free(queue);
 *     }
 * @endcode
 * ================================================================================================================== */

/**
 * Makes the deferred call return a value, given as JSON text.
 *
 * @return NJ_OK; NJ_CLOSED if the call has ended: it has a result, or the script no longer waits for it; NJ_DECODING if
 *         `json` is not JSON; NJ_TOO_LARGE for 4 GiB or more; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_script_reply_return_json(nj_script_reply *reply, const char *json, size_t length);

/**
 * Makes the deferred call raise an error in the script.
 *
 * @param message copied; NULL and text that is not UTF-8 are replaced by a general message
 * @return NJ_OK; NJ_CLOSED as for nj_script_reply_return_json; NJ_INVALID_ARGUMENT
 */
NJ_API nj_status nj_script_reply_fail(nj_script_reply *reply, const char *message);

/** Releases a reply. If it has provided no result, the call raises an error. NULL is ignored. */
NJ_API void nj_script_reply_release(nj_script_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
