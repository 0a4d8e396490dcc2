import Rankings

@testable import HTTP
@testable import Pixiv
@testable import rankfs

/// Addresses from answers and from users.
extension FuzzTarget {
    static let addresses: [FuzzTarget] = [
        FuzzTarget(name: "url", longest: 1024, seeds: []) { bytes in
            let hosts: Set<String> = ["www.pixiv.net", "i.pximg.net"]
            guard let book = try? AddressBook(hosts: hosts, trustedOrigins: ["http://127.0.0.1:8080"]),
                let listed = try? book.target("https://i.pximg.net/img-master/a.jpg"),
                let trusted = try? book.target("http://127.0.0.1:8080/a")
            else { throw BrokenProperty(description: "plain addresses are refused") }
            let text = String(decoding: bytes, as: UTF8.self)
            if let target = try? book.target(text) {
                try hold(target.isTrusted ? isAtOwn(target) : isListed(target, hosts), "\(target.url) may be asked")
            }
            if let target = try? book.redirect(text, from: listed) {
                try hold(!target.isTrusted && isListed(target, hosts), "a redirect may lead to \(target.url)")
            }
            if let target = try? book.redirect(text, from: trusted) {
                try hold(target.isTrusted ? isAtOwn(target) : isListed(target, hosts), "\(target.url) may be asked")
            }
            if let origin = try? OriginURL(text) {
                try hold(!origin.host.isEmpty && !origin.text.hasSuffix("/"), "\(origin.text) is no origin")
                try hold((try? OriginURL(origin.text)) == origin, "\(origin.text) is read in two ways")
            }
            _ = try? AddressBook(hosts: hosts, trustedOrigins: [text])
        },
        FuzzTarget(name: "path", longest: 320, seeds: []) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let path = PicturePath(url: text) {
                try hold((path.page ?? 0) <= 999 && path.work.rawValue > 0, "a number is out of bounds")
                let kept = PicturePath(reference: path.reference)
                try hold(
                    kept?.reference == path.reference && kept?.work == path.work, "what is kept is another picture")
                try holdPath(path, page: 0)
                try holdPath(path, page: 999)
                if let original = path.originalReference {
                    try hold(PicturePath(reference: original)?.originalReference == original, "an original is lost")
                }
            }
            if let path = PicturePath(reference: text) { try holdPath(path, page: 3) }
            if let path = ArchivePath(url: text) {
                try hold(ArchivePath(reference: path.reference) == path, "an archive is read in two ways")
                try hold(path.path.hasPrefix("/img-zip-ugoira/img/") && !path.path.contains(".."), "\(path.path)")
            }
            if let path = AvatarPath(url: text) {
                try hold(AvatarPath(reference: path.reference) == path, "an avatar is read in two ways")
                try hold(path.path.hasPrefix("/user-profile/img/") && !path.path.contains(".."), "\(path.path)")
            }
        },
    ]

    private static func isListed(_ target: AddressBook.Target, _ hosts: Set<String>) -> Bool {
        let url = target.url.lowercased()
        return hosts.contains(target.host) && target.isSecure
            && (url.hasPrefix("https://\(target.host)/") || url.hasPrefix("https://\(target.host):443/"))
    }

    private static func isAtOwn(_ target: AddressBook.Target) -> Bool {
        target.url.lowercased().hasPrefix("http://127.0.0.1:8080/")
    }
}
