// What is known of a Linux from its release, as uname() tells it. Pure.
#ifndef COSCHED_CTL_KERNEL_H
#define COSCHED_CTL_KERNEL_H

enum kernel_kind {
    KERNEL_UNKNOWN,      // no release of Linux
    KERNEL_TOO_OLD,      // without pidfd_open()
    KERNEL_WITHOUT_KILL, // of a cgroup
    // reweight_entity() gives a running cgroup more CPU time the oftener its weight changes, as it
    // does where its processes run on several CPUs and sleep often; others on the CPU starve
    KERNEL_STARVES_OTHERS,
    KERNEL_GOOD,
};

// By the version alone: what distributions' kernels have taken over from others is not known.
enum kernel_kind kernel_kind(const char *release);

#endif
