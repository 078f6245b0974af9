package org.rdmapanama;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairState;

/** The public methods and constructors of the object model, found by reflection so that none is forgotten. */
final class Api {
    private static final List<String> OF_EVERY_OBJECT = List.of("equals", "hashCode", "toString", "values", "valueOf");

    private Api() {}

    /** The packages that the module exports to everybody. */
    private static final List<String> PACKAGES = Stream.of(
                    VerbsArena.class,
                    Gid.class,
                    CompletionStatus.class,
                    QueuePairCounts.class,
                    DeviceAttributes.class,
                    AsyncEvent.class,
                    FlowRule.class,
                    AccessFlag.class,
                    RegisteredPool.class,
                    QueuePairState.class)
            .map(Class::getPackageName)
            .toList();

    /** All public classes of these packages. */
    static List<Class<?>> classes() {
        return PACKAGES.stream().flatMap(name -> classesOf(name).stream()).toList();
    }

    private static List<Class<?>> classesOf(String packageName) {
        try {
            List<Class<?>> classes = new ArrayList<>();
            for (String name : fileNames(packageName.replace('.', '/'))) {
                if (name.endsWith(".class") && !name.equals("package-info.class")) {
                    Class<?> type = Class.forName(packageName + "." + name.substring(0, name.length() - 6));
                    if (isPublic(type)) {
                        classes.add(type);
                    }
                }
            }
            return classes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** Unit tests have a folder on their class path, integration tests the jar. */
    private static List<String> fileNames(String folder) throws IOException {
        Path place = Path.of(VerbsArena.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath());
        if (Files.isDirectory(place)) {
            return fileNames(place.resolve(folder));
        }
        try (FileSystem jar = FileSystems.newFileSystem(place)) {
            return fileNames(jar.getPath(folder));
        }
    }

    private static List<String> fileNames(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private static boolean isPublic(Class<?> type) {
        for (Class<?> outer = type; outer != null; outer = outer.getDeclaringClass()) {
            if (!Modifier.isPublic(outer.getModifiers())) {
                return false;
            }
        }
        return true;
    }

    /** All public constructors and methods of these classes, inherited ones of these packages included. */
    static List<Executable> calls() {
        List<Executable> calls = new ArrayList<>();
        for (Class<?> type : classes()) {
            if (type.isInterface() && !type.isSealed()) {
                // What programs implement, and the library calls.
                continue;
            }
            if (!Modifier.isAbstract(type.getModifiers())) {
                calls.addAll(Arrays.asList(type.getConstructors()));
            }
            Arrays.stream(type.getMethods())
                    .filter(method -> !method.isSynthetic() && !OF_EVERY_OBJECT.contains(method.getName()))
                    .filter(method ->
                            PACKAGES.contains(method.getDeclaringClass().getPackageName()))
                    .filter(method -> method.getDeclaringClass() == type || !Modifier.isStatic(method.getModifiers()))
                    .filter(method -> isMostSpecific(method, type))
                    .forEach(calls::add);
        }
        // The order of reflection is not fixed, and a seed should mean the same in every run.
        calls.sort(Comparator.comparing(Api::describe));
        return calls.stream().distinct().toList();
    }

    /** Without methods that are inherited from a class which is listed itself: they would come twice. */
    private static boolean isMostSpecific(Method method, Class<?> type) {
        return method.getDeclaringClass() == type || !isPublic(method.getDeclaringClass());
    }

    /** Of which class an instance is needed: for an inherited method, the class it was found through is not known. */
    static boolean needsReceiver(Executable call) {
        return call instanceof Method && !Modifier.isStatic(call.getModifiers());
    }

    static String name(Executable call) {
        return call.getDeclaringClass().getSimpleName() + "."
                + (call instanceof Constructor<?> ? "new" : call.getName());
    }

    static String describe(Executable call) {
        return name(call)
                + Arrays.stream(call.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
