import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Preload": on a metered network nothing is.
    @Suite(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon")
                && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbus"),
            "needs dbus-daemon and python3-dbus"))
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

        /// A bus of the test's own.
        private struct Bus {
            let workplace: Workplace
            let address: String
            let daemon: Child

            init(_ workplace: Workplace) throws {
                self.workplace = workplace
                let socket = workplace.directory.appending(path: "bus").path
                address = "unix:path=\(socket)"
                daemon = try workplace.start(
                    "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"])
                guard poll({ access(socket, F_OK) == 0 }) else { throw Failure("no bus: \(daemon.errorText)") }
            }

            func startManager(metered: Int) throws -> Child {
                try workplace.start("/usr/bin/python3", ["-c", MeteredTests.manager, address, "\(metered)"])
            }

            func become(_ metered: Int) throws {
                let answer = try workplace.run(
                    "dbus-send", "--bus=\(address)", "--print-reply", "--dest=org.freedesktop.NetworkManager",
                    "/org/freedesktop/NetworkManager", "test.Manager.Become", "uint32:\(metered)")
                guard answer.status == 0 else { throw Failure(answer.errors) }
            }

            var environment: [String: String] {
                var variables = ProcessInfo.processInfo.environment
                variables["DBUS_SYSTEM_BUS_ADDRESS"] = address
                variables["XDG_CACHE_HOME"] = workplace.directory.appending(path: "xdg").path
                return variables
            }
        }

        private func isMetered(_ mount: Mount) -> Bool? {
            ((try? mount.status())?["network"] as? [String: Any])?["metered"] as? Bool
        }

        /// Pictures that were downloaded, in order; sizes that HEAD does not tell are asked with the first byte.
        private func downloaded(_ origin: OriginProcess) -> [String] {
            origin.downloads.filter { $0.range != "bytes=0-0" }.map(\.path)
        }

        @Test func onAMeteredNetworkNothingIsPreloaded() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let bus = try Bus(workplace)
                var manager = try bus.startManager(metered: 1)
                // Two connections: preloads come in order.
                let mount = try Mount(workplace, of: origin, options: ["connections=2"], environment: bus.environment)
                #expect(poll { isMetered(mount) == true })
                let names = try mount.names(mount.day())
                let shown = Array(zip(names, try origin.ranking()).filter { !$0.1.isWithheld }.prefix(40))
                let picture = { (index: Int) in shown[index].1.picture }
                let readOne = { (index: Int) in _ = try read("\(mount.day())/\(shown[index].0)").get() }
                try readOne(0)
                try readOne(10)
                // A walk without pause would widen its window.
                for index in 20..<24 { try readOne(index) }
                _ = access("\(mount.day())/.hidden", F_OK)
                try bus.become(4)
                #expect(poll { isMetered(mount) == false })
                try readOne(30)
                #expect(poll { downloaded(origin).count >= 9 && isIdle(mount) })
                // What would have been preloaded before would stand among these; the walk's window may be wider by now.
                let expected = [0, 10, 20, 21, 22, 23, 30, 31, 32].map(picture)
                #expect(downloaded(origin).prefix(expected.count) == expected[...])
                #expect(origin.pictureRequests.allSatisfy { !$0.path.contains("/c/") }, "no thumbnails either")

                try bus.become(3)
                #expect(poll { isMetered(mount) == true }, "a guess at yes")
                manager.signal(SIGKILL)
                #expect(poll { isMetered(mount) == false }, "NetworkManager has gone")
                manager = try bus.startManager(metered: 1)
                #expect(poll { isMetered(mount) == true }, "NetworkManager is back")
                bus.daemon.signal(SIGKILL)
                #expect(poll { isMetered(mount) == false }, "the bus has died")
                #expect(mount.unmount(upTo: 5))
            }
        }

        @Test func theOptionOverrulesNetworkManager() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin, options: ["metered=yes"])
                #expect(isMetered(mount) == true)
                let shown = Array(
                    zip(try mount.names(mount.day()), try origin.ranking()).filter { !$0.1.isWithheld }.prefix(5))
                for index in [0, 4] { _ = try read("\(mount.day())/\(shown[index].0)").get() }
                #expect(mount.unmount())
                #expect(downloaded(origin) == [shown[0].1.picture, shown[4].1.picture])
            }
        }

        /// A bus that takes connections and says nothing must hold up neither the mount nor its end.
        @Test func aSilentBusHoldsUpNothing() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let bus = try Bus(workplace)
                bus.daemon.signal(SIGSTOP)
                defer { bus.daemon.signal(SIGCONT) }
                let mount = try Mount(workplace, of: origin, environment: bus.environment)
                #expect(isMetered(mount) == false)
                #expect(mount.unmount(upTo: 5))
            }
        }
    }
}
