#!/usr/bin/python3
"""A real object store (SeaweedFS) and a relay before it that breaks what passes, as it is told.

    store.py --weed WEED --directory DIRECTORY

Prints one line of JSON when both answer: `port` of the relay, `direct` of the store itself. Then reads one JSON object a line:

    {"fault": "500", "match": "GET .*pictures"}   answer so what matches METHOD PATH; null as the fault ends it
    {"stop": true}  {"start": true}               end the store, start it again where it was
    {"count": "GET .*pictures"}                   prints how many requests matched so far

Faults: a status of three digits; "close" (the connection ends), "silent" (nothing comes), "slow" (1 KB/s), "flip" (one bit of the
body), "short" (the body ends early), "length" (the length told beside the object is another one), "busy" (one 503 a second).

Ends, and the store and the directory with it, when its input ends. Both listen on 127.0.0.1 only.
"""

import argparse
import glob
import hashlib
import hmac
import http.client
import http.server
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

KEY, SECRET, BUCKET = 'AKFLEET', 'secret/of+the=fleet', 'pool'
#: Seconds that a store may take to answer first.
STARTS_WITHIN = 60


def free_ports(count):
    """Ports that are free now; SeaweedFS also takes each of them plus 10,000. A store that starts again finds them free: no connection
    gets one of these numbers by chance (ip_local_port_range, ip(7))."""
    found = []
    while len(found) < count:
        port = random.randrange(11_000, 22_000)
        with socket.socket() as one, socket.socket() as two:
            try:
                one.bind(('127.0.0.1', port))
                two.bind(('127.0.0.1', port + 10_000))
            except OSError:
                continue
        if all(abs(port - other) > 1 for other in found):
            found.append(port)
    return found


def signature(secret, stamp, region, canonical):
    """AWS Signature Version 4: written for this, so that two programs agree."""
    scope = f'{stamp[:8]}/{region}/s3/aws4_request'
    key = ('AWS4' + secret).encode()
    for part in (*scope.split('/'), f'AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}'):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


def signed(method, path, port, body=b''):
    """The headers of a request."""
    stamp = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
    content = hashlib.sha256(body).hexdigest()
    host = f'127.0.0.1:{port}'
    names = 'host;x-amz-content-sha256;x-amz-date'
    canonical = f'{method}\n{path}\n\nhost:{host}\nx-amz-content-sha256:{content}\nx-amz-date:{stamp}\n\n{names}\n{content}'
    credential = f'{KEY}/{stamp[:8]}/us-east-1/s3/aws4_request'
    return {'Host': host, 'x-amz-date': stamp, 'x-amz-content-sha256': content,
            'Authorization': f'AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, '
                             f'Signature={signature(SECRET, stamp, "us-east-1", canonical)}'}


class Store:
    """SeaweedFS in one process."""

    def __init__(self, weed, directory):
        self.weed, self.directory, self.process = weed, directory, None
        self.master, self.volume, self.filer, self.port = free_ports(4)
        os.makedirs(directory, exist_ok=True)
        with open(f'{directory}/keys.json', 'w') as file:
            json.dump({'identities': [{
                'name': 'fleet', 'credentials': [{'accessKey': KEY, 'secretKey': SECRET}],
                'actions': ['Admin', 'Read', 'Write', 'List']}]}, file)

    def start(self):
        os.makedirs(f'{self.directory}/data', exist_ok=True)
        self.process = subprocess.Popen(
            [self.weed, '-logtostderr=true', 'server', f'-dir={self.directory}/data', '-ip=127.0.0.1', '-ip.bind=127.0.0.1',
             f'-master.port={self.master}', f'-volume.port={self.volume}', '-filer', f'-filer.port={self.filer}', '-s3',
             f'-s3.port={self.port}', f'-s3.config={self.directory}/keys.json', '-s3.port.iceberg=0', '-s3.port.lance=0', '-volume.max=40',
             '-master.volumeSizeLimitMB=64'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(f'{self.directory}/weed.log', 'a'))
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end and self.process.poll() is None:
            # The first object takes seconds, in which the store makes room for it.
            if self.ask('PUT', f'/{BUCKET}') in (200, 409) and self.ask('PUT', f'/{BUCKET}/first', b'first' * 1000) == 200:
                return
            time.sleep(0.1)
        raise SystemExit('the store did not start: ' + open(f'{self.directory}/weed.log').read()[-2000:])

    def ask(self, method, path, body=b''):
        try:
            connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=20)
            connection.request(method, path, body or None, signed(method, path, self.port, body))
            return connection.getresponse().status
        except OSError:
            return None

    def stop(self, number=signal.SIGTERM):
        if self.process:
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        # Which the store leaves beside everybody else's.
        for port in (self.master, self.volume, self.filer, self.port):
            for number in (port, port + 10_000):
                for socket_file in glob.glob(f'/tmp/seaweedfs-*-{number}.sock'):
                    os.unlink(socket_file)


class Rules:
    """What is broken now, how far away the store is, and what has passed."""

    def __init__(self):
        self.lock, self.fault, self.match, self.log = threading.Lock(), None, re.compile(''), []
        #: Seconds before each answer; bytes a second of each line, in both directions together.
        self.latency, self.rate = 0.0, None
        self.free, self.busy = 0.0, 0.0

    def is_too_much(self):
        """Whether this is the first request of a second."""
        with self.lock:
            now = time.monotonic()
            if now - self.busy < 1:
                return False
            self.busy = now
            return True

    def carry(self, count):
        """Waits until the line, which all share, has carried so many bytes."""
        if not self.rate:
            return
        with self.lock:
            self.free = max(self.free, time.monotonic()) + count / self.rate
            wait = self.free - time.monotonic()
        time.sleep(max(0, wait))

    def set(self, fault, match):
        with self.lock:
            self.fault, self.match = fault, re.compile(match or '')

    def of(self, line):
        with self.lock:
            self.log.append(line)
            return self.fault if self.fault and self.match.match(line) else None

    def count(self, match):
        with self.lock:
            return sum(1 for line in self.log if re.match(match, line))


class Relay(http.server.BaseHTTPRequestHandler):
    """Passes requests on as they are: the signature is of this relay's own address, and the store takes it for its own."""
    protocol_version = 'HTTP/1.1'
    rules, store = None, None

    def log_message(self, *_):
        pass

    def pass_on(self):
        left, body = int(self.headers.get('Content-Length') or 0), bytearray()
        while left > len(body):
            piece = self.rfile.read(min(16384, left - len(body)))
            if not piece:
                return
            self.rules.carry(len(piece))
            body += piece
        fault = self.rules.of(f'{self.command} {self.path}')
        time.sleep(self.rules.latency)
        if fault == 'busy':
            fault = '503' if self.rules.is_too_much() else None
        if fault == 'close':
            self.close_connection = True
            return
        if fault == 'silent':
            # As long as the other side waits.
            while self.rules.fault == 'silent' and not self.gone():
                time.sleep(0.05)
            self.close_connection = True
            return
        if fault and fault.isdigit():
            self.answer(int(fault), [('Content-Type', 'application/xml')], b'<Error><Code>Scripted</Code></Error>')
            return
        try:
            upstream = http.client.HTTPConnection('127.0.0.1', self.store.port, timeout=30)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ('connection', 'expect'):
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
        except OSError:
            self.close_connection = True
            return
        headers = [(n, v) for n, v in answer.getheaders() if n.lower() not in ('connection', 'transfer-encoding')]
        if fault == 'length':
            headers = [(n, '1' if n.lower() == 'x-amz-meta-rankfs-length' else v) for n, v in headers]
        if fault == 'flip' and content:
            content = bytearray(content)
            content[len(content) // 2] ^= 1
        self.answer(answer.status, headers, bytes(content), fault)

    def gone(self):
        try:
            return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b''
        except BlockingIOError:
            return False
        except OSError:
            return True

    def answer(self, status, headers, content, fault=None):
        self.send_response_only(status)
        told = False
        for name, value in headers:
            told = told or name.lower() == 'content-length'
            self.send_header(name, value)
        if not told and status not in (204, 304):
            self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        if self.command == 'HEAD' or status in (204, 304):
            return
        if fault == 'short':
            content = content[:-1]
            self.close_connection = True
        if fault == 'slow':
            while content and self.rules.fault == 'slow':
                self.wfile.write(content[:256])
                self.wfile.flush()
                content = content[256:]
                time.sleep(0.25)
        for start in range(0, len(content), 16384):
            piece = content[start:start + 16384]
            self.rules.carry(len(piece))
            self.wfile.write(piece)

    do_GET = do_PUT = do_HEAD = do_DELETE = pass_on

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, address):
        pass


class Apart:
    """The relay of a store in a process of its own, which leaves the interpreter to those who measure."""

    def __init__(self, store, latency, rate, fault):
        self.told, told = multiprocessing.Pipe()
        process = multiprocessing.get_context('fork').Process(target=self.run, args=(told, store, latency, rate, fault), daemon=True)
        process.start()
        told.close()
        self.port = self.told.recv()

    def run(self, told, store, latency, rate, fault):
        self.told.close()
        rules = Rules()
        rules.latency, rules.rate = latency, rate
        rules.set(fault, '')
        told.send(relay(store, rules))
        try:
            while told.recv():
                told.send(rules.log)
        except EOFError:
            pass

    @property
    def log(self):
        """What has passed."""
        self.told.send(True)
        return self.told.recv()


def relay(store, rules):
    """Starts a relay; returns its port."""
    Relay.rules, Relay.store = rules, store
    server = Server(('127.0.0.1', 0), Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def serve(weed, directory):
    """Starts both; returns the store, the rules and the relay's port."""
    store, rules = Store(weed, directory), Rules()
    store.start()
    return store, rules, relay(store, rules)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--weed', required=True)
    parser.add_argument('--directory', required=True)
    options = parser.parse_args()
    store, rules, port = serve(options.weed, options.directory)
    try:
        print(json.dumps({'port': port, 'direct': store.port, 'key': KEY, 'secret': SECRET, 'bucket': BUCKET}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            if order.get('stop'):
                store.stop()
            elif order.get('start'):
                store.start()
            elif 'count' in order:
                print(rules.count(order['count']), flush=True)
                continue
            else:
                rules.set(order.get('fault'), order.get('match'))
            print('done', flush=True)
    finally:
        # What it holds is removed, and by itself it would take ten seconds.
        store.stop(signal.SIGKILL)
        shutil.rmtree(options.directory, ignore_errors=True)


if __name__ == '__main__':
    main()
