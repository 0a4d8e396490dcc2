"""A mount that is served to other machines, by real servers to real clients (README.md)."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from xml.etree import ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../Desktop"), os.path.join(HERE, "../Wire")]
import household as home  # noqa: E402
import parts  # noqa: E402
import photos  # noqa: E402

#: Pictures that are looked at one after the other.
PAGED = 20
#: Pictures of each day of a month that a scanner reaches by links.
FEW = 2
WORDS = "風景"
CONTENT = "urn:schemas-upnp-org:service:ContentDirectory:1"


class Server:
    """A server and its client: a subclass starts the one and speaks through the other. Paths are those below the mount."""

    options = ["top=100", "share=all"]
    #: Whether a directory opens that no listing has, and whether there is any search.
    opens_unlisted, searches = True, True

    def __init__(self, house):
        self.house, self.place, self.mount = house, house.place, house.mount

    def start(self):
        """Returns when the server answers."""

    def sizes(self, path):
        """Names and sizes of the files of a directory."""
        raise NotImplementedError

    def read(self, path):
        raise NotImplementedError

    def copy(self, path, target):
        """Copies a directory of pictures as a person would."""
        raise NotImplementedError

    def more(self):
        """Further rows, of what only this server does."""

    def client(self, *words, status=0, **more):
        """What a client prints."""
        more.setdefault("stdin", subprocess.DEVNULL)
        result = subprocess.run(words, capture_output=True, timeout=300, check=False, **more)
        if status is not None and result.returncode != status:
            raise OSError(f"{' '.join(words[:4])}: {result.stderr.decode(errors='replace') or result.stdout[-300:]}")
        return result.stdout


class Plain(Server):
    """No server: the mount itself, to compare with."""

    name = "none"
    root = property(lambda self: self.mount.path)

    def sizes(self, path):
        with os.scandir(f"{self.root}/{path}") as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}

    def read(self, path):
        with open(f"{self.root}/{path}", "rb") as file:
            return file.read()

    def copy(self, path, target):
        self.client("cp", "-r", f"{self.root}/{path}/.", target)


# MARK: Samba

class Samba(Server):
    name = "samba"
    share = "path = {path}\nread only = yes\nguest ok = yes\ncase sensitive = yes\nmangled names = no\n"

    def start(self):
        folder = self.place.path("samba")
        os.mkdir(folder)
        # With share=public, which is the default, searches are the owner's.
        public = self.house.again("top=100").path
        shares = {"rankings": self.share.format(path=self.mount.path), "plain": f"path = {self.mount.path}\nguest ok = yes\n",
                  "guests": f"path = {public}\nguest ok = yes\n",
                  "owner": f"path = {public}\nguest ok = yes\nforce user = rankfs\n"}
        with open(f"{folder}/smb.conf", "w") as file:
            file.write("[global]\nserver role = standalone server\nmap to guest = Bad User\ninterfaces = lo\n"
                       "bind interfaces only = yes\nsmb ports = 445\ndisable netbios = yes\nload printers = no\nlog level = 0\n")
            for kind in ("lock", "state", "cache", "private", "pid", "ncalrpc"):
                os.mkdir(f"{folder}/{kind}")
                file.write(f"{kind} {'dir' if kind in ('private', 'ncalrpc') else 'directory'} = {folder}/{kind}\n")
            for name, text in shares.items():
                file.write(f"[{name}]\n{text}\n")
        # A session of its own: as it ends, smbd ends the whole group of its process.
        self.place.start("smbd", ["smbd", "--foreground", "--no-process-group", "--debug-stdout", "-s", f"{folder}/smb.conf"],
                         start_new_session=True)
        self.configuration = f"{folder}/smb.conf"
        home.wait_for_port(445)

    def speak(self, path, *commands, share="rankings", status=0):
        """smbclient in a directory."""
        words = [f'cd "{path}"', *commands]
        return self.client("smbclient", "-s", self.configuration, "-N", f"//127.0.0.1/{share}", "-c", "; ".join(words),
                           status=status)

    def sizes(self, path, share="rankings"):
        lines = self.speak(path, "ls", share=share).decode().split("\n")
        found = (re.match(r"  (.+?) +[A-Z]*[NAHSR]+ +(\d+)  \w\w\w \w\w\w", line) for line in lines)
        return {match[1]: int(match[2]) for match in found if match}

    def read(self, path):
        folder, name = path.rsplit("/", 1)
        target = self.place.path("read")
        self.speak(folder, f'get "{name}" "{target}"')
        with open(target, "rb") as file:
            return file.read()

    def copy(self, path, target, share="rankings"):
        self.speak(path, "prompt", f"lcd {target}", "mget *", share=share)

    def more(self):
        house, (third, *spare) = self.house, self.house.spare
        with house.row("plain share: list and copy a day") as row:
            target = house.place.path("copy")
            os.mkdir(target)
            self.copy(f"ranking/daily/{third}", target, share="plain")
            row.well = len(os.listdir(target)) == len(self.sizes(f"ranking/daily/{third}"))
        for share, day in zip(("plain", "rankings"), spare):
            with house.row(f"{share}: folder.jpg of a day not seen, not there") as row:
                answer = self.speak(f"ranking/daily/{day}", "get folder.jpg /dev/null", share=share, status=1)
                row.well = b"OBJECT_NAME_NOT_FOUND" in answer
        with house.row("share=public: guests are refused a search") as row:
            row.well = b"ACCESS_DENIED" in self.speak(f"search/{WORDS}", "ls", share="guests", status=None)
        with house.row("share=public: force user = rankfs opens it") as row:
            row.well = len(self.sizes(f"search/{WORDS}", share="owner")) > 20


# MARK: NFS

class Ganesha(Server):
    name = "nfs4"
    version = 4

    def start(self):
        for path in ("/run", "/var/lib/nfs/ganesha"):
            home.cover(path)
        for path in ("/run/ganesha", "/run/rpcbind"):
            os.makedirs(path)
        with open(self.place.path("ganesha.conf"), "w") as file:
            file.write(f"""
                NFS_CORE_PARAM {{ Protocols = 3,4; mount_path_pseudo = true; }}
                NFSv4 {{ Graceless = true; }}
                EXPORT {{
                    Export_Id = 1; Path = {self.mount.path}; Pseudo = /rankings; Filesystem_id = 1.1; Access_Type = RO;
                    Squash = No_Root_Squash; Protocols = 3,4; FSAL {{ Name = VFS; }}
                }}
                """)
        self.place.start("rpcbind", ["rpcbind", "-f", "-w"])
        home.wait_for_port(111)
        self.place.start("ganesha", [
            "ganesha.nfsd", "-F", "-f", file.name, "-L", self.place.path("ganesha.log"), "-p", self.place.path("ganesha.pid")])
        parts.wait_for(self._answers, "ganesha", 60)

    def _answers(self):
        # A client that comes too early may wait for minutes.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(["nfs-ls", self.url("")], capture_output=True, timeout=5, check=False).returncode == 0

    def url(self, path):
        return f"nfs://127.0.0.1/rankings/{path}?version={self.version}"

    def sizes(self, path):
        found = (re.match(r"-\S+ +\d+ +\S+ +\S+ +(\d+) (.*)", line)
                 for line in self.client("nfs-ls", self.url(path)).decode().split("\n"))
        return {match[2]: int(match[1]) for match in found if match}

    def read(self, path):
        return self.client("nfs-cat", self.url(path))

    def copy(self, path, target):
        for name in self.sizes(path):
            self.client("nfs-cp", self.url(f"{path}/{name}"), f"{target}/{name}")


class Ganesha3(Ganesha):
    name = "nfs3"
    version = 3


# MARK: WebDAV

class WebDAV(Server):
    name = "rclone"
    #: It finds names in listings that it has made, and in those of links' targets.
    opens_unlisted = False
    #: The account of the program.
    account = "rankfs"

    def start(self):
        self.place.start("rclone", home.account(self.account) + [
            "rclone", "--config", "", "serve", "webdav", self.mount.path, "--read-only", "--addr", "127.0.0.1:8080",
            "--copy-links"])
        home.wait_for_port(8080)

    def url(self, path):
        return f"http://127.0.0.1:8080/{urllib.parse.quote(path)}"

    def sizes(self, path):
        text = self.client("curl", "-sf", "-X", "PROPFIND", "-H", "Depth: 1", self.url(path) + "/").decode()
        return {urllib.parse.unquote(href).rsplit("/", 1)[1].replace("&amp;", "&"): int(size) for href, size in
                re.findall(r"<D:href>([^<]*)</D:href>(?:(?!</D:response>).)*getcontentlength>(\d+)<", text, re.S)}

    def read(self, path):
        return self.client("curl", "-sf", self.url(path))

    def copy(self, path, target):
        self.client("rclone", "--config", "", "copy", f":webdav:{path}", target, "--webdav-url", self.url(""))


class Apache(WebDAV):
    name = "apache"
    opens_unlisted = True

    def start(self):
        modules, folder = "/usr/lib/apache2/modules", self.place.path("apache")
        os.mkdir(folder)
        with open(f"{folder}/apache.conf", "w") as file:
            file.write("".join(f"LoadModule {name}_module {modules}/mod_{name}.so\n"
                               for name in ("mpm_event", "authz_core", "dav", "dav_fs")))
            file.write(f"""
                ServerName localhost
                PidFile {folder}/pid
                ErrorLog {folder}/errors
                DavLockDB {folder}/locks
                Listen 127.0.0.1:8080
                User guest
                Group guest
                DocumentRoot {self.mount.path}
                <Directory {self.mount.path}>
                    Dav On
                    Options FollowSymLinks
                    Require method GET HEAD OPTIONS PROPFIND
                </Directory>
                """)
        self.place.start("apache", ["apache2", "-f", file.name, "-DFOREGROUND"])
        home.wait_for_port(8080)


# MARK: SFTP

class Sftp(Server):
    name = "sftp"
    #: Who signs in: an account of its own for each person, none of which is the mount's.
    account = "guest"

    def start(self):
        home.cover("/run/sshd")
        for kind in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.place.path(kind)], check=True)
        os.chmod(self.place.path("user.pub"), 0o644)
        with open(self.place.path("sshd.conf"), "w") as file:
            file.write(f"""
                ListenAddress 127.0.0.1:2222
                HostKey {self.place.path("host")}
                AuthorizedKeysFile {self.place.path("user.pub")}
                StrictModes no
                UsePAM no
                Subsystem sftp internal-sftp
                Match User {self.account}
                    ForceCommand internal-sftp -R
                    AllowTcpForwarding no
                """)
        self.place.start("sshd", ["/usr/sbin/sshd", "-D", "-e", "-f", file.name])
        home.wait_for_port(2222)

    def ssh(self):
        return ["-oPort=2222", "-oBatchMode=yes", "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null",
                "-oLogLevel=ERROR", f"-oIdentityFile={self.place.path('user')}"]

    def speak(self, *commands):
        return self.client("sftp", *self.ssh(), "-b", "-", f"{self.account}@127.0.0.1", stdin=None,
                           input="\n".join(commands).encode())

    def quoted(self, path):
        return '"' + re.sub(r'([\\"*?\[])', r"\\\1", f"{self.mount.path}/{path}") + '"'

    def sizes(self, path):
        found = (re.match(r"-\S+ +\S+ +\S+ +\S+ +(\d+) \w+ +\d+ +[\d:]+ (.*)", line)
                 for line in self.speak(f"cd {self.quoted(path)}", "ls -l").decode().split("\n"))
        return {match[2].strip(): int(match[1]) for match in found if match}

    def read(self, path):
        target = self.place.path("read")
        self.speak(f"get {self.quoted(path)} {target}")
        with open(target, "rb") as file:
            return file.read()

    def copy(self, path, target):
        self.speak(f"get -r {self.quoted(path)} {target}/all")
        for name in os.listdir(f"{target}/all"):
            os.rename(f"{target}/all/{name}", f"{target}/{name}")
        os.rmdir(f"{target}/all")


class Sshfs(Sftp):
    name = "sshfs"
    root = property(lambda self: self.place.path("sshfs"))
    sizes, read, copy = Plain.sizes, Plain.read, Plain.copy

    def start(self):
        super().start()
        os.mkdir(self.root)
        self.place.start("sshfs", ["sshfs", "-f", *self.ssh(), f"{self.account}@127.0.0.1:{self.mount.path}", self.root])
        parts.wait_for(lambda: os.path.isdir(f"{self.root}/ranking"), "sshfs")
        self.place.ends.callback(subprocess.run, ["umount", "-l", self.root], check=False)


# MARK: DLNA

class DLNA(Server):
    """A server that knows what it has scanned. Titles are names without their endings."""

    searches = False
    #: The folder that is scanned, below the mount; of the table it is one mode.
    folder = "ranking/daily"
    #: An interface that can multicast, unlike the loopback.
    host = "10.213.78.1"
    control, top = "", "0"

    def start(self):
        with self.house.row(f"scan of {self.folder}") as row:
            folder = f"{self.mount.path}/{self.folder}"
            self.process = self.scan(folder, self.own(self.name))
            row.well = self.has_all(folder)

    def own(self, name):
        """A folder of the server's own."""
        path = self.place.path(name)
        os.mkdir(path)
        os.chown(path, home.ACCOUNTS["guest"], home.ACCOUNTS["guest"])
        return path

    def scan(self, folder, own):
        """Starts the server and returns when it has scanned a folder."""
        raise NotImplementedError

    def more(self):
        parts.end(self.process)
        other = self.house.again(f"top={FEW}")
        with self.house.row(f"scan of a month of by-date, {FEW} pictures a day") as row:
            folder = f"{other.path}/by-date/daily/2024/05"
            self.scan(folder, self.own(f"{self.name}-links"))
            row.well = self.has_all(folder)

    def titles(self, path, folder):
        """The titles of the containers above the items of a directory, below the folder that was scanned."""
        return os.path.relpath(path, folder).split("/")

    def has_all(self, folder):
        """Whether the server knows each picture below a folder of days."""
        with contextlib.suppress(OSError, KeyError):
            return all(len(self.below(self.titles(f"{folder}/{day}", folder))) == len(os.listdir(f"{folder}/{day}"))
                       for day in os.listdir(folder))
        return False

    def children(self, number):
        """Title and number of containers, title, address and size of items."""
        containers, items, start, total = {}, {}, 0, 1
        while start < total:
            body = ('<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" '
                    's:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>'
                    f'<u:Browse xmlns:u="{CONTENT}"><ObjectID>{number}</ObjectID><BrowseFlag>BrowseDirectChildren</BrowseFlag>'
                    f'<Filter>*</Filter><StartingIndex>{start}</StartingIndex><RequestedCount>50</RequestedCount>'
                    '<SortCriteria></SortCriteria></u:Browse></s:Body></s:Envelope>')
            answer = ElementTree.fromstring(self.client(
                "curl", "-sf", "-H", 'Content-Type: text/xml; charset="utf-8"', "-H", f'SOAPAction: "{CONTENT}#Browse"',
                "--data-binary", body, self.control))
            total = int(answer.find(".//TotalMatches").text)
            for one in ElementTree.fromstring(answer.find(".//Result").text):
                start += 1
                title = one.find("{http://purl.org/dc/elements/1.1/}title").text
                if one.tag.endswith("container"):
                    containers[title] = one.get("id")
                else:
                    resource = one.find("{urn:schemas-upnp-org:metadata-1-0/DIDL-Lite/}res")
                    items[title] = resource.text, int(resource.get("size"))
        return containers, items

    def items(self, path):
        return self.below(self.titles(f"{self.mount.path}/{path}", f"{self.mount.path}/{self.folder}"))

    def below(self, titles):
        number = self.top
        for title in titles:
            number = self.children(number)[0][title]
        return self.children(number)[1]

    def sizes(self, path):
        self.listed = self.items(path)
        return {title: size for title, (_, size) in self.listed.items()}

    def read(self, path):
        return self.client("curl", "-sf", self.listed[path.rsplit("/", 1)[1]][0])

    def copy(self, path, target):
        for title, (address, _) in self.items(path).items():
            self.client("curl", "-sf", "-o", f"{target}/{title.replace('/', '-')}", address)


class Minidlna(DLNA):
    name = "minidlna"
    control, top = f"http://{DLNA.host}:8200/ctl/ContentDir", "64"

    def scan(self, folder, own):
        with open(f"{own}/minidlna.conf", "w") as file:
            file.write(f"media_dir=P,{folder}\ndb_dir={own}\nlog_dir={own}\nport=8200\nnetwork_interface=eth0\n"
                       "inotify=no\n")
        process = self.place.start(
            os.path.basename(own), home.account("guest") + ["minidlnad", "-S", "-f", file.name, "-P", f"{own}/pid"])

        def is_done():
            with contextlib.suppress(OSError), open(f"{own}/minidlna.log") as log:
                return re.search(r"finished \((\d+) files\)", log.read())

        parts.wait_for(is_done, "the end of the scan", 600)
        return process


class Gerbera(DLNA):
    name = "gerbera"
    control = f"http://{DLNA.host}:49200/upnp/control/cds"

    def scan(self, folder, own):
        with open(f"{own}/config.xml", "w") as file:
            file.write(f"""<?xml version="1.0" encoding="UTF-8"?>
                <config version="2" xmlns="http://mediatomb.cc/config/2">
                <server><ui enabled="no"/><name>Rankings</name><udn>uuid:2fac1234-31f8-11b4-a222-08002b34c003</udn><home>{own}</home>
                <webroot>/usr/share/gerbera/web</webroot><storage><sqlite3 enabled="yes"><database-file>gerbera.db</database-file>
                </sqlite3></storage></server>
                <import hidden-files="no"><autoscan use-inotify="no"><directory location="{folder}" mode="timed" interval="86400"
                level="full" recursive="yes" hidden-files="no"/></autoscan><scripting><virtual-layout type="disabled"/></scripting>
                <mappings><extension-mimetype ignore-unknown="yes"><map from="jpg" to="image/jpeg"/></extension-mimetype>
                <mimetype-upnpclass><map from="image/*" to="object.item.imageItem.photo"/></mimetype-upnpclass></mappings>
                </import></config>""")
        process = self.place.start(os.path.basename(own), home.account("guest") + [
            "gerbera", "-c", file.name, "-i", self.host, "-p", "49200", "-l", f"{own}/log"])
        home.wait_for_port(49200, self.host)
        # Nothing of it says when it is done.
        parts.wait_for(lambda: self.has_all(folder), "the end of the scan", 600)
        return process

    def titles(self, path, folder):
        return ["PC Directory", *path.strip("/").split("/")]


SERVERS = {server.name: server for server in (Plain, Samba, Ganesha, Ganesha3, WebDAV, Apache, Sftp, Sshfs, Minidlna, Gerbera)}


# MARK: what is done with each

def use(server, house):
    first, second = house.days
    wanted = house.wanted(first)
    with house.row("list a day") as row:
        names = server.sizes(f"ranking/daily/{first}")
        row.well = {home.rank(name): size for name, size in names.items()} == {rank: len(data) for rank, data in wanted.items()}
    with house.row("copy that day") as row:
        target = house.place.path("copy")
        os.mkdir(target)
        server.copy(f"ranking/daily/{first}", target)
        row.well = home.saved(target) == wanted
    shutil.rmtree(target)
    # Ranks of withheld works are gaps.
    wanted = dict(sorted(house.wanted(second, 2 * PAGED).items())[:PAGED])
    with house.row(f"page {PAGED} of another") as row:
        names = sorted(server.sizes(f"ranking/daily/{second}"))[:PAGED]
        seen = {home.rank(name): server.read(f"ranking/daily/{second}/{name}") for name in names}
        row.well = seen == wanted and len(seen) == PAGED
    if server.searches:
        path = f"search/{WORDS}"
        if not server.opens_unlisted:
            os.listdir(f"{house.mount.path}/{path}")
        with house.row("search by name" if server.opens_unlisted else "search that is listed") as row:
            names = server.sizes(path)
            name = max(names)
            row.well = len(names) > 20 and server.read(f"{path}/{name}") == Plain(house).read(f"{path}/{name}")
    server.more()


def main():
    if sys.argv[1] == "--names":
        print(*SERVERS, "photos")
    elif sys.argv[1] == "--head":
        home.head()
    elif sys.argv[1] == "photos":
        photos.main()
    else:
        kind = SERVERS[sys.argv[1]]
        with home.House(kind.name, kind.options) as house:
            server = kind(house)
            server.start()
            use(server, house)
            sys.exit(house.failed)


if __name__ == "__main__":
    main()
