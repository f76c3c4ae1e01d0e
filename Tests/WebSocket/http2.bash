# shellcheck shell=bash
# Part of run: WebSockets over HTTP/2 (RFC 8441) through HAProxy and Apache, which connect to the servers of peers.py over
# HTTP/1.1.

free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Another process may take a free port before the server does; other ports are tried then. The function $1 writes a
# configuration for the port ${port[$1]}; the words after it are the server's command.
start_http2() { # name command...
  local name=$1 server
  shift
  for _ in 1 2 3 4 5; do
    port[$name]=$(free_port)
    "configure_$name"
    "$@" >"$work/$name.log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
      if curl -s -o /dev/null --http2 --cacert "$work/ca.pem" "https://localhost:${port[$name]}/"; then
        servers+=("$server")
        return
      fi
      kill -0 "$server" 2>/dev/null || break
      sleep 0.05
    done
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  done
  give_up "$name did not start" "$work/$name.log"
}

configure_haproxy() {
  cat "$work/server.pem" "$work/server.key" >"$work/haproxy.pem"
  cat >"$work/haproxy.conf" <<CONF
global
  maxconn 256
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 60s
frontend tls
  bind 127.0.0.1:${port[haproxy]} ssl crt $work/haproxy.pem alpn h2,http/1.1
  use_backend plain if { path_beg /plain/ }
  use_backend aiohttp if { path_beg /aiohttp/ }
  default_backend takeover
backend takeover
  server peer 127.0.0.1:${port[takeover]}
backend plain
  http-request replace-path /plain(/.*) \1
  server peer 127.0.0.1:${port[plain]}
backend aiohttp
  http-request replace-path /aiohttp(/.*) \1
  server peer 127.0.0.1:${port[aiohttp]}
CONF
}

configure_apache2() {
  local modules=/usr/lib/apache2/modules user group
  user=$(id -un) group=$(id -gn)
  # Apache does not serve as root.
  if [ "$user" = root ]; then user=www-data group=www-data; fi
  cat >"$work/apache2.conf" <<CONF
ServerRoot $work
ServerName localhost
PidFile $work/apache2.pid
ErrorLog $work/apache2.error.log
Listen 127.0.0.1:${port[apache2]}
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule socache_shmcb_module $modules/mod_socache_shmcb.so
LoadModule ssl_module $modules/mod_ssl.so
LoadModule http2_module $modules/mod_http2.so
LoadModule proxy_module $modules/mod_proxy.so
LoadModule proxy_http_module $modules/mod_proxy_http.so
LoadModule proxy_wstunnel_module $modules/mod_proxy_wstunnel.so
User $user
Group $group
SSLEngine on
SSLCertificateFile $work/server.pem
SSLCertificateKeyFile $work/server.key
Protocols h2 http/1.1
H2WebSockets on
ProxyPreserveHost on
ProxyPass /plain/ http://127.0.0.1:${port[plain]}/ upgrade=websocket
ProxyPass /aiohttp/ http://127.0.0.1:${port[aiohttp]}/ upgrade=websocket
ProxyPass / http://127.0.0.1:${port[takeover]}/ upgrade=websocket
CONF
}

start_http2 haproxy haproxy -db -f "$work/haproxy.conf"
start_http2 apache2 apache2 -X -f "$work/apache2.conf"

config="{$trusting, \"http\": {\"versions\": [\"2\"]}}"
for name in haproxy apache2; do
  here=$(secure "$name")
  both "$name, HTTP/2: echo" echo "$here/echo" -- "${echoed[@]}" process="$name" compressed=33
  both "$name, HTTP/2: echo of aiohttp" echo "$here/aiohttp/echo" -- "${echoed[@]}" library=aiohttp process="$name"
  both "$name, HTTP/2: messages of 8 MiB" large "$here/plain/echo" -- messages=2 close_code=1000 process="$name"
  both "$name, HTTP/2: the client closes with code and reason" close "$here/echo" 4001 'grüße' -- \
    close_code=4001 'close_reason=grüße'
  options='{"protocols": ["v9", "v2"]}'
  both "$name, HTTP/2: a subprotocol is selected" protocol "$here/echo" v2 -- subprotocol=v2
  options='{"max_message": 65536}'
  both "$name, HTTP/2: a message larger than max_message" too_large "$here/echo" -- messages=1
  options='{}'
  both "$name, HTTP/2: the handshake is rejected" rejected "$here/private" unauthorized 401 -- status=401
done

# Apache 2.4.71 reads from an HTTP/2 stream without polling the other side: messages and the end of the other server may
# wait until the client sends something. It also drops a Close frame of a client that then closes the connection.
here=$(secure haproxy) name=haproxy
both "$name, HTTP/2: fragments with Pings between them" echo "$here/fragments" -- "${echoed[@]}" pongs=69
both "$name, HTTP/2: Pings in both directions" ping "$here/ping" -- pings=1 pongs=3
both "$name, HTTP/2: 1000 messages from the server" count "$here/count?n=1000" 1000 -- close_code=1000
both "$name, HTTP/2: messages and a Close frame together with the handshake" count "$here/burst?n=3" 3 -- close_code=1000
both "$name, HTTP/2: the server closes with 1000" closed "$here/close?code=1000&reason=bye" ok 1000 bye -- close_code=1000
both "$name, HTTP/2: the server closes with 4000" closed "$here/close?code=4000&reason=x" connection_lost 4000 x -- \
  close_code=4000
both "$name, HTTP/2: the connection ends without a Close frame" closed "$here/close?code=1006" connection_lost 1006 ''
options='{"reconnect": true}'
both "$name, HTTP/2: three connections" reconnect "$here/greet" -- connections=3 close_code=1000
options='{}'

# nginx has no WebSockets over HTTP/2. By default, the client then uses HTTP/1.1.
config="{$trusting, \"http\": {\"versions\": [\"1.1\", \"2\"]}}"
both "nginx with HTTP/2: echo over HTTP/1.1" echo "$(secure nginx_http2)/echo" -- "${echoed[@]}" process=nginx
config="{$trusting, \"http\": {\"versions\": [\"2\"]}}"
both "nginx with HTTP/2: an error if HTTP/1.1 is excluded" rejected "$(secure nginx_http2)/echo" protocol 'RFC 8441'
config='{}'
