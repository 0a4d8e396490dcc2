// libsystemd: sd_notify(3), and sd-bus with the calls that Swift cannot make because they take any number of arguments.
#ifndef RANKFS_CSYSTEMD_SHIM_H
#define RANKFS_CSYSTEMD_SHIM_H

#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

// Asks a service for a property and returns at once, the answer goes to `callback`; never starts the service. Returns 0 or -errno.
static inline int rankfs_bus_ask_property(
    sd_bus *bus, const char *service, const char *path, const char *interface, const char *property,
    uint64_t timeout, sd_bus_message_handler_t callback, void *context
) {
    sd_bus_message *call = NULL;
    int result = sd_bus_message_new_method_call(
        bus, &call, service, path, "org.freedesktop.DBus.Properties", "Get");
    if (result >= 0) result = sd_bus_message_set_auto_start(call, 0);
    if (result >= 0) result = sd_bus_message_append(call, "ss", interface, property);
    if (result >= 0) result = sd_bus_call_async(bus, NULL, call, callback, context, timeout);
    sd_bus_message_unref(call);
    return result < 0 ? result : 0;
}

// Reads the number that such an answer holds; returns 1, or 0 or -errno if it is an error or holds something else.
static inline int rankfs_bus_read_number(sd_bus_message *answer, uint32_t *number) {
    if (sd_bus_message_is_method_error(answer, NULL)) return 0;
    return sd_bus_message_read(answer, "v", "u", number);
}

// Shows a notification with the name of the program as its icon, and waits until the desktop has it. What
// shows notifications may be started by the bus for it, as for any program. Returns 0 or -errno.
static inline int rankfs_bus_notify(
    sd_bus *bus, const char *program, const char *entry, const char *summary, const char *body, uint64_t timeout
) {
    sd_bus_message *call = NULL;
    int result = sd_bus_message_new_method_call(
        bus, &call, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
        "Notify");
    if (result >= 0) {
        result = sd_bus_message_append(
            call, "susssasa{sv}i", program, (uint32_t)0, program, summary, body, 0, 1, "desktop-entry", "s", entry,
            (int32_t)-1);
    }
    if (result >= 0) result = sd_bus_call(bus, call, timeout, NULL, NULL);
    sd_bus_message_unref(call);
    return result < 0 ? result : 0;
}

#endif
