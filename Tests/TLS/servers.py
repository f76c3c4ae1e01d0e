"""TLS servers on loopback for Tests/TLS/run: nginx, openssl s_server, HAProxy and Caddy.

Each server responds to every request with status 200. A server is a context manager; leaving it stops the process.
"""

import json
import os
import shutil
import socket
import subprocess
import time

OPENSSL_CHACHA = {"1.3": "TLS_CHACHA20_POLY1305_SHA256", "1.2": "ECDHE+CHACHA20"}


class Certificates:
    """An authority, a server certificate for each key type, and a client certificate. PEM files in one folder."""

    KEYS = {
        "ecdsa": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "rsa": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "ed25519": ["ED25519"],
    }

    def __init__(self, folder):
        self.folder = folder
        with open(self.path("names.cnf"), "w") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.authority = self.path("ca.pem")
        self.key("ca", "ecdsa")
        self.openssl("req", "-x509", "-key", "ca.key", "-days", "2", "-subj", "/CN=Nightjar test authority",
                     "-addext", "basicConstraints=critical,CA:TRUE", "-out", "ca.pem")
        for kind in self.KEYS:
            self.key(kind, kind)
            self.openssl("req", "-new", "-key", f"{kind}.key", "-subj", "/CN=localhost", "-out", f"{kind}.csr")
            self.openssl("x509", "-req", "-in", f"{kind}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                         "-days", "2", "-extfile", "names.cnf", "-out", f"{kind}.pem")
            # HAProxy reads the certificate and the key from one file.
            with open(self.path(f"{kind}.both"), "w") as both:
                for part in (f"{kind}.pem", f"{kind}.key"):
                    with open(self.path(part)) as file:
                        both.write(file.read())

    def path(self, name):
        return os.path.join(self.folder, name)

    def key(self, name, kind):
        self.openssl("genpkey", "-algorithm", *self.KEYS[kind], "-out", f"{name}.key")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


class Server:
    """A running server. The subclasses build its command line and its configuration.

    version      the only TLS version that the server supports: "1.2" or "1.3"
    key          the type of the certificate's key
    chacha       whether the server supports only ChaCha20-Poly1305
    tickets      whether the server issues session tickets
    client_auth  whether the server requires a client certificate
    closes       whether the server closes each connection after one response
    """

    keeps_alive = True

    def __init__(self, certificates, version="1.3", key="ecdsa", chacha=False, tickets=True, client_auth=False,
                 closes=False):
        self.certificates, self.version, self.key = certificates, version, key
        self.chacha, self.tickets, self.client_auth, self.closes = chacha, tickets, client_auth, closes
        self.certificate, self.private_key = certificates.path(f"{key}.pem"), certificates.path(f"{key}.key")
        self.process = None

    @classmethod
    def is_installed(cls):
        return cls.program() is not None

    @classmethod
    def program(cls):
        return shutil.which(cls.command) or shutil.which(f"/usr/sbin/{cls.command}")

    @property
    def url(self):
        return f"https://localhost:{self.port}/"

    def __enter__(self):
        # Another process may take the free port first. Other ports are tried then.
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            self.folder = self.certificates.path(f"{self.command}-{self.port}")
            os.mkdir(self.folder)
            self.log = open(self.path("log"), "w+")
            self.process = subprocess.Popen(
                self.arguments(), cwd=self.folder, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log,
                env=os.environ | {"HOME": self.folder, "XDG_DATA_HOME": self.folder, "XDG_CONFIG_HOME": self.folder})
            if self.accepts():
                return self
            self.__exit__()
        with open(self.path("log")) as log:
            raise RuntimeError(f"{self.command} did not start: {log.read()}")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.log.close()

    def accepts(self):
        """Waits until the port accepts connections. Returns False if the process has ended."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)


class Nginx(Server):
    command = "nginx"

    def arguments(self):
        lines = [f"ssl_protocols TLSv{self.version};", f"ssl_session_tickets {'on' if self.tickets else 'off'};",
                 "ssl_session_cache none;", f"keepalive_timeout {0 if self.closes else 60};"]
        if self.chacha:
            lines.append(f"ssl_ciphers {OPENSSL_CHACHA['1.2']};")
            lines.append(f"ssl_conf_command Ciphersuites {OPENSSL_CHACHA['1.3']};")
        if self.client_auth:
            lines.append(f"ssl_verify_client on; ssl_client_certificate {self.certificates.authority};")
        temporary = " ".join(f"{name}_temp_path {self.path(name)};"
                             for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = self.write("nginx.conf", f"""
daemon off; worker_processes 1; pid {self.path('pid')}; error_log {self.path('errors')} warn;
events {{ }}
http {{
  access_log off; {temporary} {' '.join(lines)}
  ssl_certificate {self.certificate}; ssl_certificate_key {self.private_key};
  server {{ listen 127.0.0.1:{self.port} ssl; location / {{ return 200 "nginx\\n"; }} }}
}}
""")
        return [self.program(), "-e", self.path("errors"), "-c", configuration]


class OpenSSL(Server):
    """`openssl s_server`, which closes each connection after one response."""

    command = "openssl"
    keeps_alive = False
    mode = ["-www"]

    def arguments(self):
        words = [self.program(), "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", self.certificate,
                 "-key", self.private_key, f"-tls{self.version.replace('.', '_')}", *self.mode]
        if self.chacha:
            words += ["-cipher", OPENSSL_CHACHA["1.2"]] if self.version == "1.2" else [
                "-ciphersuites", OPENSSL_CHACHA["1.3"]]
        if not self.tickets:
            # Without tickets, s_server would resume sessions from its cache.
            words += ["-no_ticket", "-no_cache"] + (["-num_tickets", "0"] if self.version == "1.3" else [])
        if self.client_auth:
            words += ["-Verify", "1", "-CAfile", self.certificates.authority, "-verify_return_error"]
        return words


class ManyTickets(OpenSSL):
    """`openssl s_server` that issues 2,000 session tickets on each connection."""

    mode = ["-www", "-num_tickets", "2000"]


class KeyLogging(OpenSSL):
    """`openssl s_server` that writes the keys of its connections to the file `keys`."""

    def arguments(self):
        return [*super().arguments(), "-keylogfile", self.path("keys")]


class Interactive(OpenSSL):
    """`openssl s_server` that sends the text of `send`, and executes commands: r renegotiates, K updates the keys."""

    mode = []

    def arguments(self):
        return ["stdbuf", "-oL", *super().arguments()]

    def received(self, text, count=1):
        """Waits until the output contains a text."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with open(self.path("log"), errors="replace") as log:
                if log.read().count(text) >= count:
                    return True
            time.sleep(0.01)
        return False

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()


class HAProxy(Server):
    command = "haproxy"

    def arguments(self):
        options = f"ssl crt {self.certificates.path(self.key + '.both')}"
        options += f" ssl-min-ver TLSv{self.version} ssl-max-ver TLSv{self.version}"
        if self.chacha:
            options += f" ciphers {OPENSSL_CHACHA['1.2']} ciphersuites {OPENSSL_CHACHA['1.3']}"
        if not self.tickets:
            options += " no-tls-tickets"
        if self.client_auth:
            options += f" ca-file {self.certificates.authority} verify required"
        configuration = self.write("haproxy.cfg", f"""
global
  tune.ssl.cachesize 0
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  option {'httpclose' if self.closes else 'http-keep-alive'}
frontend all
  bind 127.0.0.1:{self.port} {options}
  http-request return status 200 content-type text/plain string haproxy
""")
        return [self.program(), "-db", "-f", configuration]


class Caddy(Server):
    command = "caddy"

    def arguments(self):
        policy = {"protocol_min": f"tls{self.version}", "protocol_max": f"tls{self.version}"}
        if self.chacha and self.version == "1.2":
            policy["cipher_suites"] = ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"]
        if self.client_auth:
            with open(self.certificates.authority) as file:
                lines = [line.strip() for line in file if "CERTIFICATE" not in line]
            policy["client_authentication"] = {"trusted_ca_certs": ["".join(lines)], "mode": "require_and_verify"}
        response = {"handler": "static_response", "body": "caddy\n"}
        if self.closes:
            response["headers"] = {"Connection": ["close"]}
        configuration = {
            "admin": {"disabled": True},
            "apps": {
                "http": {"servers": {"all": {
                    "listen": [f"127.0.0.1:{self.port}"],
                    "automatic_https": {"disable": True},
                    "routes": [{"handle": [response]}],
                    "tls_connection_policies": [policy],
                }}},
                "tls": {
                    "certificates": {"load_files": [{"certificate": self.certificate, "key": self.private_key}]},
                    "session_tickets": {"disabled": not self.tickets},
                },
            },
        }
        return [self.program(), "run", "--config", self.write("caddy.json", json.dumps(configuration))]
