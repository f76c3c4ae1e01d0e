"""Servers of HTTP/2 over TLS on loopback for Tests/HTTP2/servers: nginx, HAProxy, Apache, nghttpd and Caddy.

Each server sends the files `small` and `large` of a folder, or forwards all requests to the demo API. Servers that can be
proxies forward /echo and /status to the demo API. Idle connections are closed after a second. A server is a context manager;
leaving it stops the process.
"""

import getpass
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../TLS"))
sys.dont_write_bytecode = True
import servers


class Frontend(servers.Server):
    """A server with HTTP/2.

    demo     host and port of the demo API
    files    the folder of the files `small` and `large`
    """

    reloads_posts = True  # whether no request in progress is lost when the server reloads its configuration
    forwards = True       # whether /echo and /status are resources of the demo API
    idle_timeout = True   # whether the server closes idle connections after a second
    log_name = "access"   # the file of the access log
    small, large = "/small", "/large"

    def __init__(self, certificates, demo, files):
        super().__init__(certificates)
        self.demo, self.files = demo, files

    def reload(self):
        """Returns the command that reloads the server's configuration, or None."""
        return None

    def lines(self):
        """Returns the lines of the access log."""
        with open(self.path(self.log_name)) as log:
            return log.read().splitlines()


class Nginx(Frontend):
    command = "nginx"
    requests = 100000

    def arguments(self):
        temporary = " ".join(f"{name}_temp_path {self.path(name)};"
                             for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = self.write("nginx.conf", f"""
daemon off; worker_processes 1; pid {self.path('pid')}; error_log {self.path('errors')} warn; {self.user()}
events {{ worker_connections 4096; }}
http {{
  log_format version '$server_protocol $request_method $uri $status'; access_log {self.path('access')} version;
  {temporary} keepalive_timeout 1s; keepalive_requests {self.requests}; client_max_body_size 20m;
  ssl_certificate {self.certificate}; ssl_certificate_key {self.private_key};
  server {{
    listen 127.0.0.1:{self.port} ssl http2; root {self.files};
    location /echo {{ proxy_pass http://{self.demo}; }}
    location /upload {{ proxy_pass http://{self.demo}; }}
    location /status {{ proxy_pass http://{self.demo}; }}
  }}
}}
""")
        return [self.program(), "-e", self.path("errors"), "-c", configuration]

    def user(self):
        """The workers of a root process would not have access to the folders of the user."""
        return f"user {getpass.getuser()};" if os.geteuid() == 0 else ""

    def reload(self):
        return ["kill", "-HUP", str(self.process.pid)]


class LimitedNginx(Nginx):
    """nginx that sends GOAWAY after 100 requests of a connection."""

    requests = 100


class HAProxy(Frontend):
    """HAProxy that forwards all requests to the demo API, also with HTTP/2."""

    command = "haproxy"
    log_name = "log"
    small, large = "/bytes/5", "/bytes/10000000"

    def arguments(self):
        configuration = self.write("haproxy.cfg", f"""
global
  log stdout format raw local0
  hard-stop-after 20s
defaults
  mode http
  log global
  log-format "%HV %HM %HU %ST"
  timeout client 1s
  timeout server 60s
  timeout connect 5s
frontend all
  bind 127.0.0.1:{self.port} ssl crt {self.certificates.path(self.key + '.both')} alpn h2,http/1.1
  default_backend demo
backend demo
  server demo {self.demo} proto h2
""")
        return [self.program(), "-W", "-db", "-f", configuration]

    def reload(self):
        return ["kill", "-USR2", str(self.process.pid)]

    def lines(self):
        return [line for line in super().lines() if line.startswith("HTTP/")]


class Apache(Frontend):
    """Apache with mod_http2.

    While it reloads, its mod_http2 1.15 ends some streams in progress with a GOAWAY frame that includes them ("The user
    callback function failed"). A client must not send a POST request again then.
    """

    command = "apache2"
    reloads_posts = False
    MODULES = ("mpm_event", "authz_core", "http2", "ssl", "proxy", "proxy_http", "socache_shmcb")

    def arguments(self):
        modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in self.MODULES)
        forwarded = "\n".join(f"ProxyPass {path} http://{self.demo}{path}" for path in ("/echo", "/status", "/upload"))
        configuration = self.write("apache.conf", f"""
{modules}
ServerName localhost
ServerRoot {self.folder}
DefaultRuntimeDir {self.folder}
PidFile {self.path('pid')}
ErrorLog {self.path('errors')}
LogFormat "%H %m %U %>s" version
CustomLog {self.path('access')} version
{self.user()}
StartServers 1
Listen 127.0.0.1:{self.port}
Protocols h2 http/1.1
KeepAliveTimeout 1
H2MaxWorkerIdleSeconds 1
SSLEngine on
SSLCertificateFile {self.certificate}
SSLCertificateKeyFile {self.private_key}
DocumentRoot {self.files}
<Directory {self.files}>
  Require all granted
</Directory>
{forwarded}
""")
        return [self.program(), "-DFOREGROUND", "-f", configuration]

    def user(self):
        """Apache does not serve as root."""
        return "User www-data\nGroup www-data" if os.geteuid() == 0 else ""

    def reload(self):
        return ["kill", "-USR1", str(self.process.pid)]


class Nghttpd(Frontend):
    """nghttpd, which sends the body of a request back."""

    command = "nghttpd"
    forwards = False
    idle_timeout = False

    def arguments(self):
        return [self.program(), "--address", "127.0.0.1", "--echo-upload", "--htdocs", self.files, str(self.port),
                self.private_key, self.certificate]

    def lines(self):
        return []


class Caddy(Frontend):
    command = "caddy"

    def arguments(self):
        forward = {"handler": "reverse_proxy", "upstreams": [{"dial": self.demo}]}
        configuration = {
            "admin": {"listen": f"unix/{self.path('admin')}"},
            "logging": {"logs": {
                "default": {"exclude": ["http.log.access"]},
                "access": {"include": ["http.log.access"], "writer": {"output": "file", "filename": self.path("access")}},
            }},
            "apps": {
                "http": {"servers": {"all": {
                    "listen": [f"127.0.0.1:{self.port}"],
                    "idle_timeout": "1s",
                    "automatic_https": {"disable": True},
                    "routes": [
                        {"match": [{"path": ["/echo*", "/status/*", "/upload*"]}], "handle": [forward]},
                        {"handle": [{"handler": "file_server", "root": self.files}]},
                    ],
                    "tls_connection_policies": [{}],
                    "logs": {},
                }}},
                "tls": {"certificates": {"load_files": [{"certificate": self.certificate, "key": self.private_key}]}},
            },
        }
        return [self.program(), "run", "--config", self.write("caddy.json", json.dumps(configuration))]

    def reload(self):
        return [self.program(), "reload", "--force", "--config", self.path("caddy.json"), "--address",
                f"unix/{self.path('admin')}"]

    def lines(self):
        return [json.loads(line)["request"]["proto"] for line in super().lines()]
