import Rankings
import Sourcing

/// The texts of help below the synopsis of each command.
enum CommandDetails {
    static let mount = """
        Mounts SOURCE (\(sources), or demo for the embedded one) on an empty folder and returns when it answers. A folder that does
        not exist is made where the one that it is to be in is the user's own.
          -f   serve in this process until it is unmounted or gets SIGTERM or SIGINT
          -d   as -f, with debug lines

        Options, as --name VALUE, -o name=value, `name = value` in the configuration file
        ($XDG_CONFIG_HOME/rankfs/rankfs.conf) or RANKFS_NAME in the environment; the command line wins over the
        environment, the environment over the file:

        \(optionLines)

        What the sources differ in, the default first:

        \(SourceTable.help)

        Also, behind -o, allow_other, allow_root, auto_unmount, max_read=BYTES; uid=NUMBER, gid=NUMBER, umask=OCTAL for
        the files; setuid=USER, who serves the mount if root makes it. A mount is always
        ro,nosuid,nodev,noexec,default_permissions. Signals: SIGTERM and SIGINT unmount, SIGHUP drops listings from
        memory, SIGUSR1 turns debug lines on and off.
        Exit status: 0 mounted, 32 the folder cannot be mounted on, 64 usage, 69 unavailable, 73 the cache directory cannot be
        written, 78 configuration.
        """

    static let demo = """
        Mounts the embedded source, which draws its pictures itself and speaks as the service of SOURCE does (\(sources);
        the first one if none is named), on MOUNTPOINT (\(DemoCommand.standardMountPoint) if none
        is named; made if missing, removed afterwards) until Ctrl-C. Its cache is removed at the end unless cache_dir is given.
        """

    static let unmount = """
        Unmounts, and clears a mount whose process has died. Exit status 32 if it is in use or not a mount of rankfs.
        """

    static let status = """
        Prints what each mount (or the named one) is doing; --json prints MOUNTPOINT/.rankfs/status.json as it is.

        --watch shows one mount, the first unless one is named, until Ctrl-C: blue bars are pictures that somebody reads,
        green ones are preloads. Where the cursor cannot be moved it prints a line now and then. With --json it prints the
        document once a second, each in one line.

        Exit status 69 if nothing is mounted, a mount does not answer or is another version's, or its process dies while
        it is watched; 0 after Ctrl-C and when the watched mount is unmounted.
        """

    static let fetch = """
        Reads what PATH names from a mount, so that it is stored, after telling what that will cost. A PATH is absolute, relative to
        the present folder, or relative to the root of the only mount:
          ranking/daily/2024-05-01                  a day; so are works/ID, users/ID, users/ID/bookmarks, search/WORDS
          ranking/daily/2024-01-01..2024-01-31      a range of days, both included
          ranking/daily                             every day that is listed
          --to FOLDER   write the files to FOLDER under the same paths, with times and attributes; what is there already with the
                        same size and time is left as it is, so that the same command goes on after a stop
          --sidecars    with --to: NAME.json beside each picture, made from its attributes
          -n, --dry-run tell only what it will cost

        Waits when the service asks to slow down. Ctrl-C stops at once.
        Exit status: 0 everything is there, 1 a part is not, 64 usage, 69 unavailable, 73 FOLDER cannot be written, 130 stopped.
        """

    static let cache = """
          info     prints what is stored and whether backups pass it by; also while it is mounted
          verify   reads every stored picture and the databases, and removes what is not right
          prune    brings the cache to cache_size, and to cache_free on the disk, least recently used pictures first
          clear    removes what is stored of SOURCE: pictures, pinned ones too, unfinished downloads, listings, and the
                   thumbnails that rankfs wrote for file managers

        verify, prune and clear work on what is not mounted, and only in a directory that rankfs marked as its own. clear leaves
        the directory, its log, a cool-down that the service asked for, and the session: `rankfs logout` removes that.
        Exit status: 0 done and all was right, 1 verify found something wrong and removed it, 64 usage, 69 nothing is stored, it is
        mounted or it is not rankfs's.
        """

    static let tier = """
          info [SOURCE]     prints what is on the shared tier, whichever machine brought it there
          verify [SOURCE]   reads every picture and document there, and removes what does not have the bytes that were written;
                            objects that rankfs did not write are left alone
          warm PATH…        reads what PATH names from a mount with a tier, as `rankfs fetch` does, and waits until it is on the tier:
                            a day, or a month as ranking/daily/2024-01-01..2024-01-31

        The tier is the one that the options name: tier=s3://BUCKET/PREFIX, tier_url, tier_region, tier_keys.
        warm tells how many pictures it brought, how many were there, and how many files were not looked for: what the mount had
        stored before is not brought there. `rankfs evict` it first.
        Exit status: 0 done and all was right, 1 verify removed something or could not read all, or warm could not bring all, 64 usage,
        69 the store cannot be asked, 78 configuration.
        """

    static let session = """
        Signs in with the session of a browser: \(accounts.use) need that. FILE is a
        cookies.txt as browsers' extensions export it; - is the standard input; without either, \(accounts.secret) is
        asked for and not shown. One request checks it; then it is stored, readable by you alone, in
        $XDG_STATE_HOME/rankfs/session (~/.local/state/rankfs/session), and every mount uses it at once. It goes to
        \(host) only; an origin of your own (-o api_url=) has a session of its own. With it go the cookies of a browser's
        check (cf_clearance, __cf_bm); of a SOURCE without accounts they are all that is taken.
        logout overwrites and removes it.
        Exit status: 0 done, 64 usage, 69 the service cannot be asked, 73 the file cannot be written, 77 the service
        refuses the session, 78 configuration.
        """

    static let doctor = """
        Looks at everything that a mount of SOURCE needs: fuse, the configuration, the cache directory with its marks, space and
        databases, the session, thumbnails, the clock, proxy, names and hosts, indexers, and what is mounted. One line each:
          ok       all is well
          note     worth knowing
          wrong    with what to do about it
        Each host is asked once, by the rules of a mount; nothing takes longer than some seconds.
          --fix    mend what is safe to mend, and say so: set the marks on the cache directory, take others' rights on session
                   and configuration away, clear mounts whose process has died, remove what a crash left
          --service  only ask the service for what rankfs takes for granted of it, in 12 requests at most and without the
                   session: a ranking, a record, parts of a picture, protocol, certificate; of a board order, rating and one
                   original's MD5 as well. Each is `kept`, `changed` or `unknown`. Nothing in it is private: paste it into
                   a report
          --record DIR  with --service: also keep the answers in DIR, an empty folder, to be sent with a report so that they can
                   become a test. Names, titles, tags, captions, authors' numbers, addresses on other hosts, cookies and
                   pictures are taken out; fields, numbers and shapes are left
          --json   the same for programs
        Exit status: 0 nothing is wrong (notes are allowed) or everything is kept, 1 otherwise, after --fix: still; 64 usage.
        """

    /// The text that all commands on paths share.
    static let paths = """
        Paths lie inside a mount: a picture, a whole directory, or a directory of such. Whoever may read the path may do this.
        Exit status: 0 done, 1 pin could not download everything now, 64 usage, 69 unavailable.
        """

    /// The names of the sources that are external services.
    private static var sources: String {
        SourceRegistry.all.map(\.description.name).joined(separator: ", ")
    }

    private static var accounts: AccountHelp {
        SourceRegistry.standard.accounts?.help ?? AccountHelp(use: "some lists", secret: "the secret")
    }

    /// The host to which the session is sent.
    private static var host: String { SourceRegistry.standard.accounts?.host ?? "its service" }

    /// One line per option of the table.
    private static var optionLines: String {
        OptionTable.all.map { option in
            let head = "  \(option.name)=\(option.placeholder)"
            let padding = String(repeating: " ", count: max(1, 24 - head.count))
            return head + padding + "\(option.help) (\(option.standard))"
        }.joined(separator: "\n")
    }
}
