#!/usr/bin/python3
"""Measures what many machines ask of a service and wait for, with and without a tier (README.md)."""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import store

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../Wire'))
import parts  # noqa: E402

DAY = 'ranking/daily/2024-04-30'
#: The origin's clock: the day after.
NOW = '1714700000'
PICTURES = 100
#: What the addresses of previews contain.
PREVIEWS = '/c/480x960/'


def origin_of(place, options):
    """The embedded origin, as far away and as fast as the bench has it."""
    began = time.monotonic()
    origin = parts.Origin(place, '--latency', str(options.service_latency), '--rate', str(4 << 20), '--large', '--now', NOW)
    origin.began = began
    return origin


class Fleet:
    """Mounts with a cache each."""

    def __init__(self, place, origin, options):
        self.place, self.origin, self.options, self.mounts = place, origin, options, []

    def add(self, *more):
        mount = parts.Mount(self.place, self.origin, *self.options, *more, rate=None, programs=parts.PROGRAMS)
        self.mounts.append(mount)
        return mount


def listed(mount):
    start = time.monotonic()
    result = subprocess.run(['ls', '-l', f'{mount.path}/{DAY}'], stdout=subprocess.DEVNULL)
    return time.monotonic() - start, result.returncode == 0


def pictures(mount, count):
    folder = f'{mount.path}/{DAY}'
    names = (name for name in sorted(os.listdir(folder)) if os.stat(f'{folder}/{name}').st_size)
    return [f'{folder}/{name}' for _, name in zip(range(count), names)]


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def thumbnails(mount):
    """What a desktop does: it draws all pictures of the day, many at once."""
    folder = f'{mount.path}/{DAY}'

    def draw(name):
        address = urllib.parse.quote(name, safe="/!$&'()*+,:=@~-._;")
        try:
            return len(read(f'{folder}/.sh_thumbnails/normal/{hashlib.md5(address.encode()).hexdigest()}.png'))
        except OSError:
            return 0

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        drawn = sum(size > 0 for size in pool.map(draw, os.listdir(folder)))
    return drawn, time.monotonic() - start


def draw_all(fleet, origin, machines, rules):
    """The thumbnails of a day on one machine after the other."""
    for _ in range(machines):
        before, marked = len(origin.requests()), len(rules.log) if rules else 0
        mount = fleet.add()
        listed(mount)
        drawn, seconds = thumbnails(mount)
        time.sleep(3)
        previews = [one for one in origin.requests()[before:] if PREVIEWS in one['path']]
        print(f'{drawn} thumbnails in {seconds:.1f} s, {len(previews)} previews of {sum(one["bytes"] for one in previews) / 1e6:.1f} MB from the service'
              + (f'; relay: {kinds(rules.log[marked:])}' if rules else ''))


def page(mount, look, waits, sums, lists, failures):
    """What a person does: list the day, then look at one picture after the other, so many seconds at each."""
    lists.append(listed(mount))
    for path in pictures(mount, PICTURES):
        start = time.monotonic()
        try:
            data = read(path)
        except OSError as error:
            failures.append(error)
            continue
        waits.append(time.monotonic() - start)
        sums[os.path.basename(path)].add(hashlib.md5(data).hexdigest())
        time.sleep(look)


def kinds(lines):
    """What a store was asked, by method and folder."""
    found = collections.Counter()
    for line in lines:
        method, path = line.split(' ', 1)
        folder = next((name for name in ('leases/documents', 'leases/pictures', 'documents', 'pictures') if f'/{name}/' in path), 'other')
        found[f'{method} {folder}'] += 1
    return ', '.join(f'{count} {kind}' for kind, count in sorted(found.items()))


def trouble(fleet, one, seconds, killed):
    """Ends two machines in the middle of an upload, as a crash does, and later the store for so many seconds."""
    while len(killed) < 2:
        for mount in fleet.mounts:
            if mount in killed or len(killed) == 2:
                continue
            try:
                machine = mount.status()
            except (OSError, ValueError):
                continue
            if machine['tier']['waiting']:
                killed.add(mount)
                os.kill(machine['pid'], signal.SIGKILL)
        time.sleep(0.05)
    time.sleep(5)
    gone = [time.monotonic()]
    one.stop()
    time.sleep(seconds)
    one.start()
    return gone + [time.monotonic()]


def timeline(began, bodies, gone):
    """The bytes of pictures that the origin sent, by time, and when there was no store."""
    start, end = (moment - began for moment in gone)
    sent, away = collections.Counter(), 0
    for body in bodies:
        sent[body['end'] // 5000 * 5] += body['bytes']
        away += body['bytes'] if start * 1000 <= body['end'] <= end * 1000 else 0
    print(f'  the store was gone from {start:.0f} to {end:.0f} s, {away / 1e6:.0f} MB of pictures came then; MB by 5 s: ' +
          ', '.join(f'{second}: {count / 1e6:.0f}' for second, count in sorted(sent.items())))


def together(fleet, origin, machines, readers, look, rules, settles, stop=None):
    for number in range(machines):
        fleet.add(*['tier_write=off'] if number < readers else [])
    waits, sums = [], collections.defaultdict(set)
    killed, own = set(), {mount: ([], []) for mount in fleet.mounts}
    threads = [threading.Thread(target=page, args=(mount, look, waits, sums, *own[mount])) for mount in fleet.mounts]
    gone = []
    if stop:
        threads.append(threading.Thread(target=lambda: gone.extend(trouble(fleet, *stop, killed))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fleet.mounts = [mount for mount in fleet.mounts if mount not in killed]
    lists = [one for mount in fleet.mounts for one in own[mount][0]]
    failures = [one for mount in fleet.mounts for one in own[mount][1]]
    for mount in killed:
        mount.detach()
    requests = [one for one in origin.requests() if (one['method'], one['path']) != ('HEAD', '/')]
    api = [one['path'] for one in requests if one['path'].startswith('/ranking.php')]
    heads = [one['path'] for one in requests if one['method'] == 'HEAD']
    bodies = [one for one in requests if one['method'] == 'GET' and not one['path'].startswith('/ranking.php')]
    sizes = {os.path.basename(path): os.stat(path).st_size for path in pictures(fleet.mounts[0], PICTURES)}
    waits.sort()
    print(f'{machines} machines: API {len(api)} ({len(set(api))} different), HEAD {len(heads)} ({len(set(heads))} different), '
          f'pictures {sum(one["bytes"] for one in bodies) / 1e6:.0f} MB of {len({one["path"] for one in bodies})}, '
          f'{sum(sizes.values()) / 1e6:.0f} MB of {len(sizes)} read')
    print(f'  ls -l {min(lists)[0]:.2f} to {max(lists)[0]:.2f} s, {sum(not well for _, well in lists)} failed; wait '
          f'{waits[len(waits) // 2] * 1e3:.1f} ms median, {waits[int(len(waits) * 0.95)] * 1e3:.0f} p95, {waits[-1] * 1e3:.0f} most; {len(failures)} failed; '
          f'{sum(len(found) != 1 for found in sums.values())} pictures differ')
    if gone:
        timeline(origin.began, bodies, gone)
    tiers = [mount.status().get('tier') for mount in fleet.mounts]
    if all(tiers):
        while settles and any(mount.status()['tier']['waiting'] for mount in fleet.mounts):
            time.sleep(0.1)
        tiers = [mount.status()['tier'] for mount in fleet.mounts]
        total = {name: sum(tier[name] for tier in tiers) for name in ('reads', 'writes', 'uploads', 'hits', 'awaited', 'misses', 'slow', 'slowed_down')}
        print('  store: ' + ', '.join(f'{count} {name}' for name, count in total.items()))
        for reason, count in collections.Counter(tier['reason'] for tier in tiers if tier.get('reason')).items():
            print(f'  left alone by {count}: {reason}')
    if rules:
        print('  relay: ' + kinds(rules.log))


def cold(fleet, origin):
    first = fleet.add()
    wanted = [read(path) for path in pictures(first, 60)]
    while first.status()['tier']['waiting']:
        time.sleep(0.1)
    for _ in range(3):
        before = {one['path'] for one in origin.requests()}
        asked = len(origin.requests())
        mount = fleet.add()
        seconds, _ = listed(mount)
        paths = pictures(mount, 60)
        target = f'{mount.path}.copy'
        os.makedirs(target)
        start = time.monotonic()
        subprocess.run(['cp', *paths, target], check=True)
        copying = time.monotonic() - start
        same = [read(f'{target}/{os.path.basename(path)}') for path in paths] == wanted
        again = [one['path'] for one in origin.requests()[asked:] if one['path'] in before]
        # Beyond the last one copied the next ones are preloaded, which the first machine did not read.
        copied = {os.getxattr(path, 'user.rankfs.work').decode() for path in paths}
        ahead = [path for path in again if re.search(r'/(\d+)_p\d', path) and
                 re.search(r'/(\d+)_p\d', path)[1] not in copied]
        total = sum(map(len, wanted))
        print(f'cold: ls -l {seconds * 1e3:.0f} ms, cp of 60 {copying:.2f} s, {total / copying / 1e6:.0f} MB/s; '
              f'asked again of the service: {len(again) - len(ahead)}, and {len(ahead)} for pictures behind the 60; '
              f'{"the same bytes" if same else "OTHER BYTES"}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--weed', required=True)
    parser.add_argument('--programs', default='.build/release')
    parser.add_argument('--machines', type=int, default=4)
    parser.add_argument('--alone', action='store_true')
    parser.add_argument('--cold', action='store_true')
    parser.add_argument('--thumbnails', action='store_true', help='thumbnails of the day, on one machine after the other')
    parser.add_argument('--look', type=float, default=0.3, help='seconds at each picture')
    parser.add_argument('--relay', action='store_true', help='tell what the store is asked; slower, for few machines')
    parser.add_argument('--service-latency', type=int, default=60, help='milliseconds before each answer of the service')
    parser.add_argument('--store-latency', type=int, default=0, help='milliseconds before each answer of the store')
    parser.add_argument('--store-rate', type=int, help='bytes a second of the line to the store, which all share')
    parser.add_argument('--store-fault', help='what the store does all the time: "busy", "silent", a status (store.py)')
    parser.add_argument('--readers', type=int, default=0, help='machines of which nothing is brought to the store')
    parser.add_argument('--trouble', type=int, help='two machines are killed in mid-upload, then the store is gone for so many seconds')
    options = parser.parse_args()
    parts.PROGRAMS = os.path.abspath(options.programs)
    with parts.Place() as place:
        origin, one, rules = origin_of(place, options), None, None
        tier = []
        if not options.alone:
            one = store.Store(os.path.abspath(options.weed), place.path('store'))
            one.start()
            place.ends.callback(one.stop, signal.SIGKILL)
            # Straight to the store, if nobody wants to know more: the relay takes time.
            far = options.store_latency or options.store_rate or options.store_fault
            if options.relay or far:
                rules = store.Apart(one, options.store_latency / 1000, options.store_rate, options.store_fault)
            port = rules.port if rules else one.port
            keys = place.path('keys')
            with open(os.open(keys, os.O_WRONLY | os.O_CREAT, 0o600), 'w') as file:
                file.write(f'aws_access_key_id = {store.KEY}\naws_secret_access_key = {store.SECRET}\n')
            tier = [f'tier=s3://{store.BUCKET}/fleet', f'tier_url=http://127.0.0.1:{port}', f'tier_keys={keys}']
        fleet = Fleet(place, origin, tier)
        if options.cold:
            cold(fleet, origin)
        elif options.thumbnails:
            draw_all(fleet, origin, options.machines, rules)
        else:
            together(
                fleet, origin, options.machines, options.readers, options.look, rules, not options.store_rate,
                (one, options.trouble) if options.trouble else None)


if __name__ == '__main__':
    main()
