"""A browser driven over HTTP as the W3C's WebDriver says (https://www.w3.org/TR/webdriver2/), with chromedriver's own
endpoints for the browser's log, its network events and the size of the screen."""
import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def missing():
    """The Debian packages that this machine lacks."""
    programs = {"chromium": "chromium", "chromedriver": "chromium-driver"}
    return [package for program, package in programs.items() if shutil.which(program) is None]


class Browser:
    """Headless; knows each console message and each request since the page was opened."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.profile = tempfile.TemporaryDirectory(prefix="trnplan-browser-", ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.session = None
        options = {"binary": shutil.which("chromium"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--hide-scrollbars", "--disable-background-networking", "--no-first-run",
                            f"--user-data-dir={self.profile.name}"]}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}}
        for attempt in range(60):  # until the driver listens
            try:
                self.session = self.call("POST", "/session", wanted)["sessionId"]
                break
            except (ConnectionError, urllib.error.URLError):
                if attempt == 59 or self.driver.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.session is not None:
            self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(e.read().decode(errors="replace")[:2000]) from None

    def post(self, path, body):
        return self.call("POST", f"/session/{self.session}/{path}", body)

    def log(self, kind):
        return self.post("se/log", {"type": kind})

    def open(self, path, width=1280, height=900):
        self.size(width, height)
        self.log("browser")
        self.log("performance")
        self.post("url", {"url": "file://" + str(path)})

    def size(self, width, height=900):
        self.command("Emulation.setDeviceMetricsOverride",
                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def command(self, name, parameters):
        return self.post("goog/cdp/execute", {"cmd": name, "params": parameters})

    def script(self, text, *arguments):
        return self.post("execute/sync", {"script": text, "args": list(arguments)})

    def complaints(self):
        return [e["message"] for e in self.log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Requests other than for the file itself and the texts in it."""
        urls = []
        for entry in self.log("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                urls.append(event["params"]["request"]["url"])
        return [u for u in urls if not u.startswith(("data:", "file://"))] + [u for u in urls if u.startswith("file://")][1:]

    def media(self, kind="", dark=False):
        """What style sheets ask for: paper ("print"), a dark screen."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"media": kind, "features": [scheme]})

    def paper(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"]))

    def picture(self, path):
        size = self.script("return [innerWidth, document.documentElement.scrollHeight]")
        self.script("dispatchEvent(new Event('resize'))")
        shot = self.command("Page.captureScreenshot", {
            "captureBeyondViewport": True, "format": "png",
            "clip": {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 16000), "scale": 1}})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
