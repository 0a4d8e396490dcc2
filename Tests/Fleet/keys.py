#!/usr/bin/python3
"""A store in memory that checks each signature (AWS Signature Version 4), and the services from which keys come.

    keys.py

Prints one line of JSON: its `port` on 127.0.0.1. It is the store, a proxy to stores of any name, the metadata service of a machine
and the agent of a container. Then reads one JSON object a line, and answers each with a line:

    {"id": "AK", "secret": "S", "token": "T", "code": "ExpiredToken"}   the keys that count from now on (no token: null), and the
                                                                        word for all others
    {"owner": "123456789012"}                                           the account that owns the bucket
    {"age": 86400}                                                      makes all objects older by so many seconds
    {"count": "GET .*pictures"}                                         prints how many answers matched `METHOD TARGET STATUS`

Ends when its input ends.
"""

import hashlib
import hmac
import http.server
import json
import re
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

sys.dont_write_bytecode = True
from store import signature  # noqa: E402

BUCKET, ROLE, SESSION, LASTS = 'pool', 'role+of.machine', 'session of the machine', 3600


class State:
    def __init__(self):
        self.lock = threading.RLock()
        self.keys = {'id': 'AK', 'secret': 'secret', 'token': None, 'code': 'InvalidAccessKeyId'}
        self.owner, self.objects, self.log = None, {}, []


state = State()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, body=b'', headers=()):
        with state.lock:
            state.log.append(f'{self.command} {self.headers.get("Host")} {self.path} {status}')
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 304:
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def fail(self, status, code):
        self.answer(status, f'<Error><Code>{code}</Code></Error>'.encode(), [('Content-Type', 'application/xml')])

    def refusal(self, path, query):
        """The status and the code of a request whose signature does not hold."""
        keys = state.keys
        found = re.fullmatch(
            r'AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})',
            self.headers.get('Authorization', ''))
        if not found:
            return 403, 'AccessDenied'
        name, _, region, names, given = found.groups()
        if name != keys['id'] or self.headers.get('x-amz-security-token') != keys['token']:
            return (400 if keys['code'] == 'ExpiredToken' else 403), keys['code']
        signed = names.split(';')
        if any(header.lower().startswith('x-amz-') and header.lower() not in signed for header in self.headers):
            return 403, 'AccessDenied'
        lines = ''.join(f'{header}:{" ".join(self.headers.get(header, "").split())}\n' for header in signed)
        content = self.headers.get('x-amz-content-sha256', '')
        canonical = '\n'.join([self.command, path, '&'.join(sorted(query.split('&'))), lines, names, content])
        right = signature(keys['secret'], self.headers.get('x-amz-date', ''), region, canonical)
        return None if hmac.compare_digest(right, given) else (403, 'SignatureDoesNotMatch')

    def lent(self):
        keys = state.keys
        ends = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + LASTS))
        return json.dumps({
            'Code': 'Success', 'AccessKeyId': keys['id'], 'SecretAccessKey': keys['secret'], 'Token': keys['token'],
            'Expiration': ends}).encode()

    def role(self, path):
        """The metadata service (IMDSv2), and the container's agent."""
        if path == '/latest/api/token':
            if self.command != 'PUT' or not self.headers.get('X-aws-ec2-metadata-token-ttl-seconds'):
                return self.answer(405)
            return self.answer(200, SESSION.encode())
        if path == '/container':
            allowed = self.headers.get('Authorization') == 'Bearer of the container'
            return self.answer(200, self.lent()) if allowed else self.answer(403)
        if self.headers.get('X-aws-ec2-metadata-token') != SESSION:
            return self.answer(401)
        roles = '/latest/meta-data/iam/security-credentials/'
        if path == roles:
            return self.answer(200, (ROLE + '\n').encode())
        return self.answer(200, self.lent()) if path == roles + ROLE else self.answer(404)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        target = urllib.parse.urlsplit(self.path)
        path, query = target.path, target.query
        if path.startswith('/latest/') or path == '/container':
            return self.role(path)
        with state.lock:
            refused = self.refusal(path, query)
            if refused:
                return self.fail(*refused)
            expected = self.headers.get('x-amz-expected-bucket-owner')
            if expected and expected != state.owner:
                return self.fail(403, 'AccessDenied')
            host = self.headers.get('Host', '')
            bucket, _, key = (f'{BUCKET}{path}' if host.startswith(f'{BUCKET}.') else path[1:]).partition('/')
            if bucket != BUCKET:
                return self.fail(404, 'NoSuchBucket')
            if not key:
                return self.list(dict(urllib.parse.parse_qsl(query)))
            return getattr(self, self.command.lower())(key, body)

    do_GET = do_PUT = do_DELETE = handle_any

    def list(self, query):
        text = ''.join(
            f'<Contents><Key>{xml.sax.saxutils.escape(key)}</Key>'
            f'<LastModified>{time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(written))}</LastModified>'
            f'<Size>{len(body)}</Size></Contents>'
            for key, (body, _, written) in sorted(state.objects.items()) if key.startswith(query.get('prefix', '')))
        self.answer(200, f'<ListBucketResult>{text}</ListBucketResult>'.encode(), [('Content-Type', 'application/xml')])

    def get(self, key, _):
        if key not in state.objects:
            return self.fail(404, 'NoSuchKey')
        body, headers, written = state.objects[key]
        headers = headers + [('Last-Modified', time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime(written)))]
        if self.headers.get('If-None-Match') == dict(headers)['ETag']:
            return self.answer(304)
        return self.answer(200, body, headers)

    def put(self, key, body):
        old = state.objects.get(key)
        etag = dict(old[1])['ETag'] if old else None
        if self.headers.get('If-None-Match') == '*' and old:
            return self.fail(412, 'PreconditionFailed')
        if self.headers.get('If-Match') and self.headers['If-Match'] != etag:
            return self.fail(412, 'PreconditionFailed')
        copied = '<CopyObjectResult/>' if self.headers.get('x-amz-copy-source') else ''
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        if self.headers.get('x-amz-copy-source'):
            if self.headers.get('x-amz-copy-source-if-match') != dict(old[1])['ETag'] if old else True:
                return self.fail(412, 'PreconditionFailed')
            if self.headers['x-amz-copy-source'] != f'/{BUCKET}/{key}' or not old or body:
                return self.fail(400, 'InvalidRequest')
            body = old[0]
        kept = [(name, value) for name, value in self.headers.items()
                if name.lower().startswith('x-amz-meta-') or name.lower() == 'content-type']
        state.objects[key] = (body, kept + [('ETag', etag)], time.time())
        return self.answer(200, copied.encode(), [('ETag', etag)])

    def delete(self, key, _):
        state.objects.pop(key, None)
        return self.answer(204)


def main():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({'port': server.server_port}), flush=True)
    for line in sys.stdin:
        order, answer = json.loads(line), 'done'
        with state.lock:
            if 'id' in order:
                state.keys = {name: order.get(name) for name in ('id', 'secret', 'token')}
                state.keys['code'] = order.get('code') or 'InvalidAccessKeyId'
            if 'owner' in order:
                state.owner = order['owner']
            if 'age' in order:
                state.objects = {key: (body, headers, written - order['age'])
                                 for key, (body, headers, written) in state.objects.items()}
            if 'count' in order:
                answer = str(sum(bool(re.search(order['count'], entry)) for entry in state.log))
        print(answer, flush=True)


main()
