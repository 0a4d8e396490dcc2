import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Signed in": a desktop is told that the session expired.
    @Suite(.enabled(if: PrivateBus.isAvailable, PrivateBus.need))
    struct NoticeTests {
        /// A desktop that prints what it is to show, on the bus that its first argument names.
        private static let desktop = """
            import json, sys, dbus, dbus.bus, dbus.service
            from dbus.mainloop.glib import DBusGMainLoop
            from gi.repository import GLib
            DBusGMainLoop(set_as_default=True)
            NAME = "org.freedesktop.Notifications"
            class Desktop(dbus.service.Object):
                @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
                def Notify(self, program, replaces, icon, summary, body, actions, hints, timeout):
                    said = [program, icon, summary, body, str(hints["desktop-entry"])]
                    print(json.dumps(said + [int(replaces), len(actions), int(timeout)]), flush=True)
                    return dbus.UInt32(1)
            bus = dbus.bus.BusConnection(sys.argv[1])
            desktop = Desktop(bus, "/org/freedesktop/Notifications")
            name = dbus.service.BusName(NAME, bus)
            print("ready", flush=True)
            GLib.MainLoop().run()
            """

        /// The bus in a runtime directory, with a desktop on it.
        private func startDesktop(_ workplace: Workplace, runtime: String) throws -> (bus: PrivateBus, desktop: Child) {
            let bus = try PrivateBus(workplace, at: "\(runtime)/bus")
            let desktop = try workplace.start("/usr/bin/python3", ["-c", Self.desktop, bus.address])
            guard poll({ desktop.outputText.contains("ready") }) else { throw Failure(desktop.errorText) }
            return (bus, desktop)
        }

        /// A mount of somebody who is signed in, with no bus but the one in the runtime directory.
        private func signedInMount(_ workplace: Workplace, _ origin: OriginProcess, runtime: String) throws -> Mount {
            let state = try workplace.folder("state/rankfs")
            let authority = try #require(origin.url.split(separator: "/").last).replacing(":", with: "_")
            let session = "\(state)/session-\(authority)"
            try "1000_Zq9XsecretXabc\n".write(toFile: session, atomically: true, encoding: .utf8)
            #expect(chmod(session, 0o600) == 0)
            let variables = [
                "XDG_STATE_HOME": workplace.directory.appending(path: "state").path,
                "DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": runtime,
            ]
            let mount = try Mount(workplace, of: origin, variables: variables)
            #expect(try mount.names("\(mount.path)/ranking").contains("daily_r18"), "signed in")
            return mount
        }

        /// Makes the service refuse the session, and asks for something that wants it.
        private func expire(_ origin: OriginProcess, _ mount: Mount, _ workplace: Workplace, day: String) throws {
            try workplace.run("curl", "-sf", "-X", "POST", "\(origin.direct)/_control/expire-sessions")
            #expect(try workplace.run("ls", mount.day("daily_r18", day)).errors.contains("Permission denied"))
            #expect(try mount.figures("sign_in")["state"] as? String == "expired")
        }

        @Test func anExpiredSessionIsToldToTheDesktopOnce() async throws {
            try await withWorkplace { workplace in
                let runtime = try workplace.folder("run")
                let (bus, desktop) = try startDesktop(workplace, runtime: runtime)
                let origin = try OriginProcess(workplace)
                let mount = try signedInMount(workplace, origin, runtime: runtime)
                let said = { desktop.outputText.split(separator: "\n").dropFirst() }
                try expire(origin, mount, workplace, day: "2024-05-02")
                #expect(poll { said().count == 1 }, "\(desktop.errorText)")
                let line = try #require(said().first)
                let notice = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any]
                let texts = try #require(notice).compactMap { $0 as? String }
                try #require(texts.count == 5)
                #expect(texts[0] == "rankfs" && texts[1] == "rankfs" && texts[4] == "org.rankfs.rankfs")
                #expect(texts[2].contains("no longer takes the session") && texts[3].contains("rankfs login"))
                #expect(!desktop.outputText.contains("Zq9X"))

                // Said once, however often it is met; the next expiry is another one. Sent in order, so the second one that
                // comes would be a repetition of the first.
                for day in ["2024-05-03", "2024-05-04"] { _ = try workplace.run("ls", mount.day("daily_r18", day)) }
                try workplace.run("curl", "-sf", "-X", "POST", "\(origin.direct)/_control/renew-sessions")
                let session = "\(workplace.directory.path)/state/rankfs"
                for name in try FileManager.default.contentsOfDirectory(atPath: session) {
                    try "1000_Zq9Xanother0ne\n".write(toFile: "\(session)/\(name)", atomically: true, encoding: .utf8)
                    #expect(chmod("\(session)/\(name)", 0o600) == 0)
                }
                #expect(try !mount.names(mount.day("daily_r18", "2024-05-05")).isEmpty, "signed in anew")
                try expire(origin, mount, workplace, day: "2024-05-06")
                #expect(poll { said().count == 2 })
                #expect(mount.unmount(upTo: 5))
                #expect(said().count == 2)
                bus.daemon.signal(SIGTERM)
            }
        }

        /// A file manager shows an error without its cause: the desktop is told it, once.
        @Test(arguments: [true, false]) func aServiceThatLetsNobodyInIsToldToTheDesktopOnce(isFront: Bool) async throws
        {
            try await withWorkplace { workplace in
                let runtime = try workplace.folder("run")
                let (bus, desktop) = try startDesktop(workplace, runtime: runtime)
                let origin = try OriginProcess(workplace)
                let mount = try signedInMount(workplace, origin, runtime: runtime)
                let fault = isFront ? #""challenge""# : #""status","status":500"#
                try origin.spoil([#"{"action":\#(fault),"path":"/ranking.php?"}"#], in: workplace)
                for day in ["2024-05-02", "2024-05-03", "2024-05-04"] {
                    #expect(try workplace.run("ls", mount.day("daily", day)).errors.contains("Input/output error"))
                }
                #expect(mount.unmount(upTo: 5))
                let said = { desktop.outputText.split(separator: "\n").dropFirst() }
                #expect(poll { said().count == 1 }, "\(desktop.outputText)\(desktop.errorText)")
                let line = try #require(said().first)
                #expect(line.contains(isFront ? "rankfs login cookies.txt" : "is in trouble (status 500)"), "\(line)")
                bus.daemon.signal(SIGTERM)
            }
        }

        /// No bus, a bus without a desktop, and one that takes connections and says nothing: readers do not wait for any.
        @Test(arguments: ["none", "empty", "silent"])
        func withoutADesktopNothingWaits(_ kind: String) async throws {
            try await withWorkplace { workplace in
                let runtime = try workplace.folder("run")
                let bus = kind == "none" ? nil : try PrivateBus(workplace, at: "\(runtime)/bus")
                let origin = try OriginProcess(workplace)
                let mount = try signedInMount(workplace, origin, runtime: runtime)
                if kind == "silent" { bus?.daemon.signal(SIGSTOP) }
                defer { bus?.daemon.signal(SIGCONT) }
                try expire(origin, mount, workplace, day: "2024-05-02")
                #expect(try mount.names(mount.day("daily", "2024-05-02")).count > 90)
                #expect(try FileManager.default.contentsOfDirectory(atPath: runtime) == (bus == nil ? [] : ["bus"]))
                #expect(mount.unmount(upTo: 5))
            }
        }
    }
}
