import CCurl
import Glibc

/// Which network addresses a host name from outside may lead to: public ones only.
///
/// A name on the list of hosts can be made to point into the private network (DNS answers are not trusted either), so the
/// address itself is looked at when the socket is opened (libcurl-security(3)).
enum AddressRule {
    /// Whether this address is on the public internet.
    ///
    /// Refused are: unspecified, loopback, private, link-local, carrier-grade NAT, benchmark, multicast and reserved
    /// addresses of IPv4, the same inside IPv6 (mapped, compatible, NAT64, 6to4), and unique local, link-local and multicast ones
    /// of IPv6 (the IANA special-purpose registries).
    static func isPublic(_ address: UnsafePointer<sockaddr>) -> Bool {
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr
            return unsafe withUnsafeBytes(of: bytes) { unsafe isPublicIPv4(Array($0)) }
        case AF_INET6:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return unsafe withUnsafeBytes(of: bytes) { unsafe isPublicIPv6(Array($0)) }
        default:
            return false
        }
    }

    /// Whether four bytes in network order are a public address.
    static func isPublicIPv4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (224..., _): false
        case (100, 64...127): false
        case (169, 254): false
        case (172, 16...31): false
        case (192, 168): false
        case (192, 0) where bytes[2] == 0 || bytes[2] == 2: false
        case (198, 18...19): false
        default: true
        }
    }

    /// Whether sixteen bytes in network order are a public address.
    static func isPublicIPv6(_ bytes: [UInt8]) -> Bool {
        if bytes[..<10].allSatisfy({ $0 == 0 }) {
            let mapped = bytes[10] == 0xFF && bytes[11] == 0xFF
            return mapped && isPublicIPv4(Array(bytes[12...]))
        }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) {
            return bytes[4..<12].allSatisfy { $0 == 0 } && isPublicIPv4(Array(bytes[12...]))
        }
        if bytes.starts(with: [0x20, 0x02]) { return isPublicIPv4(Array(bytes[2..<6])) }
        // 2000::/3 is all that is handed out; Teredo (2001::/32) hides an IPv4 address.
        return bytes[0] & 0xE0 == 0x20 && !bytes.starts(with: [0x20, 0x01, 0x00, 0x00])
    }
}
