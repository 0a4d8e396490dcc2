import Catalog
import Fuse
import Synchronization
import Thumbnails

/// Who reads a picture for a thumbnail.
///
/// A file manager that asked for thumbnails before they were there has them made of the pictures: by programs that it starts,
/// or by itself. It finds the thumbnail of the small preview as soon as such an attempt has failed, so the picture is refused.
enum ThumbnailReading: Sendable {
    /// A file manager will find what is made of the preview if this attempt fails; nil if it tries by itself what its
    /// thumbnailer was refused.
    case replaceable(ThumbnailJob, ThumbnailSeeder, desktop: CallingProgram?)
    /// A worker takes a failure for the last word. It is only held up until thumbnails are there that it finds then.
    case worker(ThumbnailSeeder)
}

extension DirectoryThumbnails {
    /// What a caller reads a picture for, if it is a file manager's thumbnailer; nil for every other caller, and for
    /// thumbnails that are larger than those made of previews.
    func reading(_ listing: Listing, _ index: Int, _ path: String, _ caller: Caller) -> ThumbnailReading? {
        let desktops = tree.desktops
        guard desktops.looks.withLock(\.hasDesktops), let seeder = seeder(for: caller) else { return nil }
        let processes = desktops.processes
        var desktop: CallingProgram?
        switch Thumbnailer(arguments: processes.arguments(caller.process)) {
        case .worker: return .worker(seeder)
        case .ofOneFile(let edge):
            guard edge <= ThumbnailSize.large.edge else { return nil }
            let starters = processes.starters(caller.process)
            desktop = desktops.looks.withLock { looks in starters.first { looks.isDesktop($0) } }
            if desktop == nil { return nil }
        case nil:
            guard let trier = desktops.looks.withLock({ $0.secondTrier(of: path, now: desktops.moment) }),
                processes.program(caller.process) == trier
            else { return nil }
            desktops.looks.withLock { $0.triedAgain(path) }
        }
        let wish = ThumbnailWish(
            seeder: seeder, spellings: [.glib, .qt], directories: sightsNow(of: listing.key).flatMap(\.self))
        return job(listing, index, wish).map { .replaceable($0, seeder, desktop: desktop) }
    }

    /// Holds a picture up that is opened for a thumbnail, until that is there.
    ///
    /// - Throws: `.hasThumbnail` if the file manager finds the thumbnail without the picture.
    func prepare(
        _ reading: ThumbnailReading, of listing: Listing, at path: String
    ) async throws(Failure) {
        switch reading {
        case .replaceable(let job, let seeder, let desktop):
            guard await seeder.seedInPlaceOfThumbnailer(job) else { break }
            if let desktop {
                tree.desktops.looks.withLock {
                    $0.refused(path, toThumbnailerOf: desktop, now: tree.desktops.moment)
                }
            }
            throw .hasThumbnail
        case .worker(let seeder):
            // At once, so that it is held up by the patience of one look in all.
            await withTaskGroup(of: Void.self) { group in
                for directories in sightsNow(of: listing.key) {
                    group.addTask { await seeder.waitForThumbnails(of: Self.seeding(in: directories)) }
                }
            }
        }
    }
}
