import Foundation
import Glibc

/// Processes in mount namespaces of their own, in which a machine looks as a test needs it: see mount_namespaces(7).
enum OwnNamespace {
    /// Begins a command line whose process finds a FUSE device that every user may open.
    ///
    /// Where nothing prepares the machine's own it has the mode 0600. A node made on a file system of memory is bound over
    /// it.
    static func withOpenDevice(_ folder: String) -> [String] {
        let script = """
            mount -t tmpfs -o mode=755 none "$0" && mknod "$0/fuse" c 10 229 && chmod 666 "$0/fuse" \
            && mount --bind "$0/fuse" /dev/fuse && exec "$@"
            """
        return ["/usr/bin/unshare", "-m", "--propagation", "private", "sh", "-c", script, folder]
    }

    /// Whether this machine lets a test make such a device: root, and a container that does not forbid devices.
    static let canOpenDevice: Bool = {
        guard geteuid() == 0, let workplace = try? Workplace() else { return false }
        defer { workplace.close() }
        let nobody = [
            "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh", "-c", "exec 3<>/dev/fuse",
        ]
        return (try? workplace.run(withOpenDevice(workplace.folder("device")) + nobody))?.status == 0
    }()

    /// A process in whose namespace nobody's mounts of rankfs are but those of a workplace.
    static func withoutForeignMounts(_ workplace: Workplace) throws -> Child {
        let script = """
            grep ' - fuse.rankfs ' /proc/self/mountinfo | cut -d' ' -f5 | while read -r point; do
                case "$point" in "$0"/*) ;; *) umount -l "$(printf %b "$point")" ;; esac
            done
            echo ready; exec sleep 3600
            """
        let child = try workplace.start(
            "/usr/bin/unshare",
            ["-m", "--propagation", "private", "sh", "-c", script, workplace.directory.path])
        guard poll({ child.outputText == "ready\n" }) else { throw Failure("no namespace: \(child.errorText)") }
        return child
    }
}
