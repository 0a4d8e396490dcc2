import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Preload": on a metered network nothing is.
    @Suite(.enabled(if: PrivateBus.isAvailable, PrivateBus.need))
    struct MeteredTests {
        /// A service of NetworkManager's name with its property, which its first argument begins with.
        private static let manager = """
            import sys, dbus, dbus.bus, dbus.service
            from dbus.mainloop.glib import DBusGMainLoop
            from gi.repository import GLib
            DBusGMainLoop(set_as_default=True)
            NAME = "org.freedesktop.NetworkManager"
            PROPERTIES = "org.freedesktop.DBus.Properties"
            class Manager(dbus.service.Object):
                metered = int(sys.argv[2])
                @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
                def Get(self, interface, name):
                    assert (interface, name) == (NAME, "Metered")
                    return dbus.UInt32(self.metered)
                @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
                def PropertiesChanged(self, interface, changed, invalidated): pass
                @dbus.service.method("test.Manager", in_signature="u")
                def Become(self, metered):
                    self.metered = metered
                    self.PropertiesChanged(NAME, {"Metered": dbus.UInt32(metered)}, [])
            bus = dbus.bus.BusConnection(sys.argv[1])
            manager = Manager(bus, "/org/freedesktop/NetworkManager")
            name = dbus.service.BusName(NAME, bus)
            GLib.MainLoop().run()
            """

        private func startManager(on bus: PrivateBus, metered: Int) throws -> Child {
            try bus.workplace.start("/usr/bin/python3", ["-c", Self.manager, bus.address, "\(metered)"])
        }

        private func become(_ metered: Int, on bus: PrivateBus) throws {
            let answer = try bus.workplace.run(
                "dbus-send", "--bus=\(bus.address)", "--print-reply", "--dest=org.freedesktop.NetworkManager",
                "/org/freedesktop/NetworkManager", "test.Manager.Become", "uint32:\(metered)")
            guard answer.status == 0 else { throw Failure(answer.errors) }
        }

        private func isMetered(_ mount: Mount) -> Bool? { (try? mount.figures("network"))?["metered"] as? Bool }

        @Test(arguments: Service.kinds) func onAMeteredNetworkNothingIsPreloaded(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let bus = try PrivateBus(workplace, at: workplace.directory.appending(path: "bus").path)
                var manager = try startManager(on: bus, metered: 1)
                // Two connections: what is preloaded comes two by two.
                let mount = try Mount(
                    workplace, of: origin, options: ["connections=2"],
                    variables: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
                #expect(poll { isMetered(mount) == true })
                let all = try mount.pictures(of: origin)
                let shown = Array(all.prefix(40))
                // Where the walk does not lead, by time neither.
                let times = all.map(\.entry.uploaded).sorted()
                let place = { (index: Int) in times.firstIndex(of: shown[index].entry.uploaded) ?? 0 }
                let far = try #require((30...37).first { abs(place($0) - place(23)) > 4 })
                let picture = { (index: Int) in shown[index].entry.picture }
                let readOne = { (index: Int) in _ = try read(shown[index].path).get() }
                try readOne(0)
                try readOne(10)
                // A walk without pause would widen its window.
                for index in 20..<24 { try readOne(index) }
                _ = access("\(mount.day())/.hidden", F_OK)
                try become(4, on: bus)
                #expect(poll { isMetered(mount) == false })
                try readOne(far)
                #expect(poll { Set(origin.downloaded).count >= 9 && mount.isIdle })
                // What would have been preloaded before would stand among these; the walk's window may be wider by now.
                let expected = [0, 10, 20, 21, 22, 23, far, far + 1, far + 2].map(picture)
                let downloaded = origin.downloaded.prefix(expected.count)
                #expect(downloaded.prefix(6) == expected.prefix(6))
                // Of two connections the second one may be heard first.
                #expect(Set(downloaded) == Set(expected), "\(downloaded)")
                #expect(
                    origin.pictureRequests.allSatisfy { !$0.path.contains(service.previews) }, "no thumbnails either")

                try become(3, on: bus)
                #expect(poll { isMetered(mount) == true }, "a guess at yes")
                manager.signal(SIGKILL)
                #expect(poll { isMetered(mount) == false }, "NetworkManager has gone")
                manager = try startManager(on: bus, metered: 1)
                #expect(poll { isMetered(mount) == true }, "NetworkManager is back")
                bus.daemon.signal(SIGKILL)
                #expect(poll { isMetered(mount) == false }, "the bus has died")
                #expect(mount.unmount(upTo: 5))
            }
        }

        /// A bus that takes connections and says nothing must hold up neither the mount nor its end.
        @Test func aSilentBusHoldsUpNothing() async throws {
            try await withOrigin { workplace, origin in
                let bus = try PrivateBus(workplace, at: workplace.directory.appending(path: "bus").path)
                bus.daemon.signal(SIGSTOP)
                defer { bus.daemon.signal(SIGCONT) }
                let mount = try Mount(workplace, of: origin, variables: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
                #expect(isMetered(mount) == false)
                #expect(mount.unmount(upTo: 5))
            }
        }
    }
}
