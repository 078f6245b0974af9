package org.rdmapanama.cm;

import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;

/** Devices that are opened once for many connections, each with one protection domain. */
final class Devices {
    final VerbsArena arena;

    /** By name of the device. Guarded by this. */
    private final Map<String, ProtectionDomain> domains = new HashMap<>();

    Devices(VerbsArena arena) {
        this.arena = arena;
    }

    synchronized ProtectionDomain domain(String deviceName) {
        ProtectionDomain known = domains.get(deviceName);
        if (known != null && known.isOpen()) {
            return known;
        }
        Context context = Context.open(arena, deviceName);
        try {
            ProtectionDomain made = context.allocateProtectionDomain();
            domains.put(deviceName, made);
            return made;
        } catch (RuntimeException | Error e) {
            context.close();
            throw e;
        }
    }

    /** A device that went away may come back under its name: the next connection opens it anew. */
    synchronized void forget(ProtectionDomain domain) {
        domains.values().remove(domain);
    }
}
