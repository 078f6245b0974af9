package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.MacAddress;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_counters;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.ffm.verbs.ibv_flow;
import org.rdmapanama.ffm.verbs.ibv_flow_action;
import org.rdmapanama.ffm.verbs.ibv_pd;
import org.rdmapanama.ffm.verbs.ibv_rwq_ind_table;
import org.rdmapanama.ffm.verbs.ibv_td;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.ibv_xrcd;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/**
 * Objects of every type that the public API takes, to be receivers and arguments of calls that are made by reflection:
 * a connected pair of queue pairs, whatever was made on their devices, and values of all kinds.
 */
final class World implements AutoCloseable {
    private static final int MAX_OF_A_TYPE = 24;
    private static final int MAX_CLOSED = 4;
    private static final int MAX_DEPTH = 4;

    /** What may be parsed as one thing or another, or names something. */
    private static final List<String> TEXTS = List.of(
            "",
            "rxe0",
            "rxe1",
            "10.77.0.1",
            "fe80::1",
            "0001:000011:000000:",
            "\u0000",
            LabDevices.first().name(),
            "02:00:00:00:00:01",
            "0000:0000:0000:0000:0000:ffff:0a4d:0001",
            "0000:000011:3dd5a4:00000000000000000000ffff0a4d0001",
            new RemoteMemory(4096, 7, 64).toString());

    /** The constructors and factories of a type, which take long to find. */
    private static final Map<Class<?>, List<Executable>> MAKERS = new ConcurrentHashMap<>();

    /** Of these an empty array is refused. */
    private static final Set<Class<?>> NEVER_EMPTY = Set.of(RegionPart.class);

    final ConnectedPair pair;
    private final Random random;
    private final Map<Class<?>, List<Object>> pool = new LinkedHashMap<>();

    /** For each type that was asked for, those lists of the pool that have such objects. */
    private final Map<Class<?>, List<List<Object>>> found = new HashMap<>();

    /** Some that are closed, or stand on something that is. */
    private final Map<Class<?>, List<Object>> closed = new LinkedHashMap<>();

    /** Whether values are to be such that calls mostly take them. */
    private boolean careful;

    World(Random random, VerbsArena arena) {
        this.random = random;
        pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
        for (Side side : List.of(pair.a, pair.b)) {
            add(side.arena);
            add(side.context);
            add(side.domain);
            add(side.channel);
            add(side.queue);
            add(side.queuePair);
            add(side.region);
            add(side.region.remote());
            add(side.region.part(0, 8));
            add(side.memory);
            add(side.memory.asSlice(64, 128));
            add(side.request(1, 0, 64).add(side.region, 64, 64));
            add(side.receiveRequest(1, 0, 64).add(side.region, 64, 64));
            add(new WorkCompletions(side.arena, 8));
            addMore(side);
            addStandIns(side);
        }
        GidEntry own = pair.a.context.preferredGid(1).orElseThrow();
        add(own);
        add(own.gid());
        add(AddressVector.toGid(1, own.index(), own.gid()));
        add(pair.a.domain.createAddressHandle(AddressVector.toGid(1, own.index(), own.gid())));
        add(new MacAddress(0x02_00_00_00_00_01L));
        add(DeviceList.query());
        add(LabDevices.first());
        add(pair.a.queuePair.localEndpoint());
        add(new QueuePairOptions(QueuePairType.RC, pair.a.queue));
        add(LabDevices.connectOptions());
        add(new QueuePairAttributes().state(QueuePairState.ERR));
        add(new FlowRule(1));
    }

    private void addMore(Side side) {
        CompletionQueueOptions ofExtended = new CompletionQueueOptions(64);
        if (!LabDevices.areNative()) {
            // Otherwise it is a matter of luck whether there is a queue that can be waited for. Not on Soft-RoCE: its
            // kernel has crashed in one run with a channel.
            ofExtended.channel(side.channel);
        }
        ExtendedCompletionQueue extended = side.context.createCompletionQueue(ofExtended);
        add(extended);
        add(extended.poll());
        ExtendedQueuePair datagrams =
                side.domain.createExtendedQueuePair(new QueuePairOptions(QueuePairType.UD, side.queue)
                        .maxInlineData(64)
                        .sendOperations(SendOperation.SEND));
        add(datagrams);
        add(datagrams.startWorkRequests().send());
        add(side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2));
        MemoryRegion bindable = side.domain.register(side.memory, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        add(new MemoryWindowBinding(bindable, 0, 64, AccessFlag.REMOTE_WRITE));
        add(side.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()));
        RegisteredPool pool = RegisteredPool.create(side.domain, 8192);
        add(pool);
        add(pool.allocate(64));
        add(TagOperation.allocate(side.arena, 4).add(side.region, 0, 8).add(side.region, 8, 8));
    }

    /** What Soft-RoCE cannot make. Its driver has no functions that would look at it. */
    private void addStandIns(Side side) {
        Context context = side.context;
        Ownership borrowed = Ownership.BORROWED;
        add(Counters.ofNativeAddress(
                context, FakeStructs.of(context, ibv_counters.layout(), ibv_counters.context$offset()), borrowed));
        add(DeviceMemory.ofNativeAddress(
                context, FakeStructs.of(context, ibv_dm.layout(), ibv_dm.context$offset()), 64, borrowed));
        add(Flow.ofNativeAddress(
                side.queuePair, FakeStructs.of(context, ibv_flow.layout(), ibv_flow.context$offset()), borrowed));
        add(FlowActionEsp.ofNativeAddress(
                context,
                FakeStructs.of(context, ibv_flow_action.layout(), ibv_flow_action.context$offset()),
                borrowed));
        add(ThreadDomain.ofNativeAddress(
                context, FakeStructs.of(context, ibv_td.layout(), ibv_td.context$offset()), borrowed));
        long parent = FakeStructs.of(context, ibv_pd.layout(), ibv_pd.context$offset());
        // The kernel knows a parent domain by the handle of its protection domain.
        MemorySegment.copy(
                Native.struct(side.domain.address, ibv_pd.layout()),
                0,
                Native.struct(parent, ibv_pd.layout()),
                0,
                ibv_pd.sizeof());
        add(ParentDomain.ofNativeAddress(side.domain, parent, borrowed));
        add(XrcDomain.ofNativeAddress(
                context, FakeStructs.of(context, ibv_xrcd.layout(), ibv_xrcd.context$offset()), borrowed));
        WorkQueueOptions options = new WorkQueueOptions(side.queue);
        add(options);
        WorkQueue workQueue = WorkQueue.ofNativeAddress(
                side.domain, options, FakeStructs.of(context, ibv_wq.layout(), ibv_wq.context$offset()), borrowed);
        add(workQueue);
        add(ReceiveIndirectionTable.ofNativeAddress(
                context,
                List.of(workQueue),
                FakeStructs.of(context, ibv_rwq_ind_table.layout(), ibv_rwq_ind_table.context$offset()),
                borrowed));
    }

    /** Keeps an object for later calls; of each type only so many, the rest of the verbs objects being closed. */
    void add(Object object) {
        List<Object> same = pool.computeIfAbsent(object.getClass(), type -> {
            found.clear();
            return new ArrayList<>();
        });
        if (same.contains(object)) {
            return;
        }
        same.add(object);
        if (same.size() > MAX_OF_A_TYPE) {
            Object old = same.remove(random.nextInt(MAX_OF_A_TYPE));
            if (old instanceof VerbsObject verbsObject) {
                verbsObject.close();
                addClosed(verbsObject);
            }
        }
    }

    /** Keeps an object that is closed; of each type only so many. */
    void addClosed(Object object) {
        List<Object> same = closed.computeIfAbsent(object.getClass(), type -> new ArrayList<>());
        if (same.size() < MAX_CLOSED) {
            same.add(object);
        } else {
            same.set(random.nextInt(MAX_CLOSED), object);
        }
    }

    /** Keeps some objects of a world that is closed. */
    void addClosed(World earlier) {
        earlier.pool.values().forEach(objects -> addClosed(objects.get(random.nextInt(objects.size()))));
    }

    /** An object of a type, or null when there is none. */
    Object closed(Class<?> type) {
        if (!type.getName().startsWith("org.rdmapanama.")) {
            return null;
        }
        List<List<Object>> lists = lists(closed, type);
        List<Object> same = lists.isEmpty() ? List.of() : lists.get(random.nextInt(lists.size()));
        return same.isEmpty() ? null : same.get(random.nextInt(same.size()));
    }

    /** An object of a type, or null when there is none. */
    Object existing(Class<?> type) {
        List<List<Object>> lists = found.computeIfAbsent(type, key -> lists(pool, key));
        int count = 0;
        for (List<Object> list : lists) {
            count += list.size();
        }
        if (count == 0) {
            return null;
        }
        int index = random.nextInt(count);
        for (List<Object> list : lists) {
            if (index < list.size()) {
                return list.get(index);
            }
            index -= list.size();
        }
        throw new AssertionError(index);
    }

    private static List<List<Object>> lists(Map<Class<?>, List<Object>> objects, Class<?> type) {
        return objects.entrySet().stream()
                .filter(entry -> type.isAssignableFrom(entry.getKey()))
                .map(Map.Entry::getValue)
                .toList();
    }

    /** One that exists; where values are to be careful ones, one that is open, if that is soon found. */
    private Object existingOrOpen(Class<?> type) {
        Object object = !careful && random.nextInt(16) == 0 ? closed(type) : null;
        object = object == null ? existing(type) : object;
        for (int attempt = 0; careful && attempt < 4 && isClosed(object); attempt++) {
            object = existing(type);
        }
        return object;
    }

    private static boolean isClosed(Object object) {
        return object instanceof VerbsObject verbsObject && !verbsObject.isOpen();
    }

    /** The first object of a type, which is side a's, made if need be. */
    Object valid(Class<?> type, Type generic) {
        if (type == List.class
                && generic instanceof ParameterizedType parameterized
                && parameterized.getActualTypeArguments()[0] instanceof Class<?> element) {
            return List.of(valid(element, element));
        }
        if (type == Set.class
                && generic instanceof ParameterizedType parameterized
                && parameterized.getActualTypeArguments()[0] instanceof Class<?> element
                && element.isEnum()) {
            return Set.of(element.getEnumConstants());
        }
        if (type.isArray() && NEVER_EMPTY.contains(type.getComponentType())) {
            Object array = Array.newInstance(type.getComponentType(), 1);
            Array.set(array, 0, valid(type.getComponentType(), type.getComponentType()));
            return array;
        }
        for (Map.Entry<Class<?>, List<Object>> entry : pool.entrySet()) {
            if (type.isAssignableFrom(entry.getKey()) && type != Object.class) {
                return entry.getValue().get(0);
            }
        }
        if (type == int.class || type == long.class || type == short.class || type == byte.class) {
            return number(type, 1);
        }
        return type == Duration.class ? Duration.ZERO : made(type, generic);
    }

    /** A value that took some luck to make, or null. */
    private Object made(Class<?> type, Type generic) {
        careful = true;
        try {
            Object made = null;
            for (int attempt = 0; attempt < 20 && made == null; attempt++) {
                made = value(type, generic, 0);
            }
            return made;
        } finally {
            careful = false;
        }
    }

    private static Object number(Class<?> type, long value) {
        return switch (type.getName()) {
            case "int" -> (int) value;
            case "long" -> value;
            case "short" -> (short) value;
            case "byte" -> (byte) value;
            case "char" -> (char) value;
            case "double" -> (double) value;
            default -> (float) value;
        };
    }

    private long anyNumber() {
        return switch (random.nextInt(10)) {
            case 0 -> 0;
            case 1, 2, 3 -> 1;
            case 4 -> -1;
            case 5 -> random.nextInt(16);
            case 6 -> random.nextInt(4096);
            case 7 -> Integer.MAX_VALUE - random.nextInt(2);
            case 8 -> Integer.MIN_VALUE;
            default -> random.nextLong();
        };
    }

    /** Small ones, and those by which the pair's memory is known. */
    private long carefulNumber(Class<?> type) {
        return switch (random.nextInt(10)) {
            case 0, 1 -> 0;
            case 2, 3, 4 -> 1;
            case 5 -> 2;
            case 6, 7 -> 8L << random.nextInt(10);
            case 8 -> type == int.class ? knownKey() : random.nextInt(16);
            default -> type == long.class ? pair.b.region.address() : knownKey();
        };
    }

    /** Whether a key is that of a window that is open. */
    boolean isKeyOfWindow(int key) {
        return pool.getOrDefault(MemoryWindow.class, List.of()).stream()
                .map(MemoryWindow.class::cast)
                .anyMatch(window -> window.isOpen() && window.rkey() == key);
    }

    private int knownKey() {
        return random.nextBoolean() && existing(MemoryWindow.class) instanceof MemoryWindow window && window.isOpen()
                ? window.rkey()
                : pair.b.region.rkey();
    }

    /** Any value of a type, right or wrong; null only when none can be made. */
    Object any(Class<?> type, Type generic) {
        return value(type, generic, 0);
    }

    private Object value(Class<?> type, Type generic, int depth) {
        if (type == boolean.class) {
            return random.nextBoolean();
        }
        if (type.isPrimitive()) {
            return number(type, careful ? carefulNumber(type) : anyNumber());
        }
        if (type.isEnum()) {
            Object[] constants = type.getEnumConstants();
            return constants[random.nextInt(constants.length)];
        }
        if (type.isArray()) {
            return array(type.getComponentType(), depth);
        }
        if (Collection.class.isAssignableFrom(type) && !type.getName().startsWith("org.rdmapanama")) {
            return collection(type, generic, depth);
        }
        Object simple = simple(type);
        if (simple != null) {
            return simple;
        }
        Object known = existingOrOpen(type);
        return known != null && (depth > 1 || random.nextInt(4) > 0) ? known : made(type, known, depth);
    }

    private Object array(Class<?> component, int depth) {
        int length = component == byte.class ? List.of(0, 4, 6, 16).get(random.nextInt(4)) : random.nextInt(4);
        Object array = Array.newInstance(component, length);
        for (int i = 0; i < length; i++) {
            Array.set(array, i, value(component, component, depth + 1));
        }
        return array;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object collection(Class<?> type, Type generic, int depth) {
        Type element = generic instanceof ParameterizedType parameterized
                ? parameterized.getActualTypeArguments()[0]
                : Object.class;
        if (!(element instanceof Class<?> elementClass)) {
            return Set.class.isAssignableFrom(type) ? Set.of() : List.of();
        }
        List<Object> values = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            values.add(value(elementClass, elementClass, depth + 1));
        }
        if (!type.isAssignableFrom(EnumSet.class) && !Set.class.isAssignableFrom(type)) {
            return values;
        }
        if (elementClass.isEnum()) {
            Set set = EnumSet.noneOf((Class) elementClass);
            set.addAll(values);
            return set;
        }
        return Set.copyOf(values);
    }

    private Object simple(Class<?> type) {
        if (type == String.class || type == CharSequence.class) {
            return TEXTS.get(random.nextInt(TEXTS.size()));
        }
        if (type == Path.class) {
            // Of counters of the kernel, where there need not be any.
            return Path.of("/sys/class/infiniband");
        }
        if (type == Duration.class) {
            return List.of(Duration.ZERO, Duration.ofMillis(1), Duration.ofMillis(-1))
                    .get(random.nextInt(careful ? 2 : 3));
        }
        if (type == MemorySegment.class) {
            return segment();
        }
        if (type == ByteBuffer.class) {
            return random.nextBoolean()
                    ? Arena.ofAuto().allocate(random.nextInt(64)).asByteBuffer()
                    : ByteBuffer.allocate(8);
        }
        if (InetAddress.class.isAssignableFrom(type)) {
            boolean isLong = type == Inet6Address.class || (type != Inet4Address.class && random.nextBoolean());
            return inetAddress(isLong ? 16 : 4);
        }
        return null;
    }

    private static InetAddress inetAddress(int bytes) {
        byte[] address = new byte[bytes];
        address[0] = (byte) (bytes == 4 ? 127 : 0);
        address[bytes - 1] = 1;
        try {
            return InetAddress.getByAddress(address);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private MemorySegment segment() {
        MemorySegment memory = random.nextBoolean() ? pair.a.memory : pair.b.memory;
        if (careful) {
            return random.nextBoolean() ? memory : memory.asSlice(64L * random.nextInt(16), 64);
        }
        return switch (random.nextInt(6)) {
            case 0 -> MemorySegment.NULL;
            case 1 -> MemorySegment.ofArray(new byte[64]);
            case 2 -> Arena.ofAuto().allocate(64);
            case 3 -> memory.asReadOnly();
            case 4 -> memory.asSlice(random.nextInt(4096), random.nextInt(4096));
            default -> memory;
        };
    }

    /** Made by one of the type's constructors or factories, else one that exists. */
    private Object made(Class<?> type, Object otherwise, int depth) {
        if (depth > MAX_DEPTH || !type.getName().startsWith("org.rdmapanama")) {
            return otherwise;
        }
        List<Executable> makers = MAKERS.computeIfAbsent(type, World::makers);
        for (int attempt = 0; attempt < 4 && !makers.isEmpty(); attempt++) {
            Executable maker = makers.get(random.nextInt(makers.size()));
            try {
                return invoke(maker, null, arguments(maker, depth + 1));
            } catch (InvocationTargetException refused) {
                // Wrong arguments: others may do.
                continue;
            }
        }
        return otherwise;
    }

    private static List<Executable> makers(Class<?> type) {
        List<Executable> makers = new ArrayList<>();
        for (Class<?> candidate : concrete(type)) {
            makers.addAll(Arrays.asList(candidate.getConstructors()));
            Arrays.stream(candidate.getMethods())
                    .filter(method -> Modifier.isStatic(method.getModifiers()))
                    .filter(method -> candidate.isAssignableFrom(method.getReturnType()))
                    .filter(method -> !Fuzz.isExcluded(method))
                    .forEach(makers::add);
        }
        return makers;
    }

    private static List<Class<?>> concrete(Class<?> type) {
        return type.isSealed()
                ? Arrays.stream(type.getPermittedSubclasses())
                        .<Class<?>>map(permitted -> permitted)
                        .toList()
                : List.of(type);
    }

    Object[] arguments(Executable call, int depth) {
        Class<?>[] types = call.getParameterTypes();
        Type[] generics = call.getGenericParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = value(types[i], generics[i], depth);
        }
        return arguments;
    }

    /** Arguments that the call mostly takes, but for the one at an index, which may be anything; none where it is -1. */
    Object[] carefulArguments(Executable call, int wrong) {
        careful = true;
        try {
            Object[] arguments = arguments(call, 0);
            careful = false;
            if (wrong >= 0) {
                Class<?> type = call.getParameterTypes()[wrong];
                Object unusable = random.nextBoolean() ? closed(type) : null;
                arguments[wrong] = unusable == null ? value(type, call.getGenericParameterTypes()[wrong], 0) : unusable;
            }
            return arguments;
        } finally {
            careful = false;
        }
    }

    /** Calls a method or a constructor. */
    static Object invoke(Executable call, Object receiver, Object[] arguments) throws InvocationTargetException {
        try {
            return call instanceof Constructor<?> constructor
                    ? constructor.newInstance(arguments)
                    : accessible((Method) call).invoke(receiver, arguments);
        } catch (IllegalAccessException | InstantiationException e) {
            throw new AssertionError(e);
        }
    }

    private static Method accessible(Method method) {
        method.setAccessible(true);
        return method;
    }

    @Override
    public void close() {
        pair.close();
    }
}
