# Receives webhooks and accepts only those that Chequer signed. Run it with python3 callback.py.
import hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()


def genuine(headers, body):
    """Reports whether Chequer signed these bytes within the last five minutes."""
    timestamp = headers.get("X-Processing-Timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    message = "\n".join([
        "chequer-event-v1", timestamp, headers.get("X-Processing-Event-Id", ""), hashlib.sha512(body).hexdigest(),
    ])
    expected = hmac.new(SECRET, message.encode(), hashlib.sha512).hexdigest()
    # There are two signatures while the endpoint's keys are being rotated.
    signatures = headers.get("X-Processing-Signature-V2", "").split(",")
    return any(hmac.compare_digest(given.encode(), expected.encode()) for given in signatures)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not genuine(self.headers, body):
            self.send_error(403)
            return
        # Record the id, so that a repeated event counts once; then act.
        print(json.loads(body)["type"])
        self.send_response(200)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
