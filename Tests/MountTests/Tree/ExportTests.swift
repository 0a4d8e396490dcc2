import Testing

extension MountSuite {
    /// What servers of NFS do with a mount: files are opened by handles that outlive the kernel's memory of them.
    @Suite struct ExportTests {
        /// Prints the handle of a file (name_to_handle_at(2)), or what a handle's file in a mount holds (open_by_handle_at(2)).
        private static let program = """
            import ctypes, os, sys
            libc = ctypes.CDLL(None, use_errno=True)
            class Handle(ctypes.Structure):
                _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]
            handle = Handle(128)
            if sys.argv[1] == "handle":
                mount = ctypes.c_int()
                if libc.name_to_handle_at(-100, sys.argv[2].encode(), ctypes.byref(handle), ctypes.byref(mount), 0):
                    sys.exit(os.strerror(ctypes.get_errno()))
                print(handle.kind, bytes(handle.bytes[:handle.size]).hex())
            else:
                data = bytes.fromhex(sys.argv[4])
                handle.size, handle.kind = len(data), int(sys.argv[3])
                ctypes.memmove(handle.bytes, data, len(data))
                root = os.open(sys.argv[2], os.O_RDONLY)
                file = libc.open_by_handle_at(root, ctypes.byref(handle), os.O_RDONLY)
                if file < 0:
                    sys.exit(os.strerror(ctypes.get_errno()))
                sys.stdout.write("\\n".join(os.listdir(file)) if os.path.isdir(f"/proc/self/fd/{file}")
                                 else str(len(os.fdopen(file, "rb").read())))
            """

        @Test(arguments: Service.kinds)
        func handlesOfAnEarlierMountStillLeadToTheSameFiles(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                var mount = try Mount(workplace, of: origin, options: ["top=5"])
                let names = try mount.names(mount.day())
                func handle(_ path: String) throws -> [String] {
                    let output = try workplace.run("python3", "-c", Self.program, "handle", path)
                    #expect(output.status == 0, "\(output.errors)")
                    return output.output.split(whereSeparator: \.isWhitespace).map(String.init)
                }
                let picture = try handle("\(mount.day())/\(names[2])")
                let size = try status(of: "\(mount.day())/\(names[2])").st_size
                let day = try handle(mount.day())
                #expect(mount.unmount())
                mount = try Mount(workplace, of: origin, options: ["top=5"])
                let read = try workplace.run(["python3", "-c", Self.program, "open", mount.path] + picture)
                #expect(read.output == String(size), "\(read.errors)")
                let listed = try workplace.run(["python3", "-c", Self.program, "open", mount.path] + day)
                #expect(listed.lines == names, "\(listed.errors)")
                let gone = try workplace.run(
                    "python3", "-c", Self.program, "open", mount.path, picture[0], String(repeating: "77", count: 12))
                #expect(gone.status != 0 && gone.errors.contains("Stale"), "\(gone.errors)")
            }
        }
    }
}
