/* library.h - the functions of libnghttp2, loaded at run time. */
#ifndef CHTTP2_LIBRARY_H
#define CHTTP2_LIBRARY_H

#include <nghttp2/nghttp2.h>

#define NGHTTP2_FUNCTIONS(F)                                                \
  F(nghttp2_version)                                                        \
  F(nghttp2_strerror)                                                       \
  F(nghttp2_option_new)                                                     \
  F(nghttp2_option_del)                                                     \
  F(nghttp2_option_set_no_auto_window_update)                               \
  F(nghttp2_option_set_no_http_messaging)                                   \
  F(nghttp2_option_set_max_send_header_block_length)                        \
  F(nghttp2_session_callbacks_new)                                          \
  F(nghttp2_session_callbacks_del)                                          \
  F(nghttp2_session_callbacks_set_on_begin_headers_callback)                \
  F(nghttp2_session_callbacks_set_on_header_callback)                       \
  F(nghttp2_session_callbacks_set_on_frame_recv_callback)                   \
  F(nghttp2_session_callbacks_set_on_invalid_frame_recv_callback)           \
  F(nghttp2_session_callbacks_set_on_data_chunk_recv_callback)              \
  F(nghttp2_session_callbacks_set_on_stream_close_callback)                 \
  F(nghttp2_session_client_new3)                                            \
  F(nghttp2_session_del)                                                    \
  F(nghttp2_session_mem_recv)                                               \
  F(nghttp2_session_mem_send)                                               \
  F(nghttp2_session_check_request_allowed)                                  \
  F(nghttp2_session_want_read)                                              \
  F(nghttp2_session_want_write)                                             \
  F(nghttp2_session_get_stream_user_data)                                   \
  F(nghttp2_session_set_stream_user_data)                                   \
  F(nghttp2_session_resume_data)                                            \
  F(nghttp2_session_consume_connection)                                     \
  F(nghttp2_session_consume_stream)                                         \
  F(nghttp2_session_set_local_window_size)                                  \
  F(nghttp2_session_get_remote_settings)                                    \
  F(nghttp2_session_terminate_session)                                      \
  F(nghttp2_submit_request)                                                 \
  F(nghttp2_submit_rst_stream)                                              \
  F(nghttp2_submit_ping)                                                    \
  F(nghttp2_submit_settings)

#define DECLARE(name) extern __typeof__(name) *ch2_##name;
NGHTTP2_FUNCTIONS(DECLARE)
#undef DECLARE

#endif
